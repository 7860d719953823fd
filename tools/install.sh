#!/bin/sh
# Installs the programs of tools/package.json, where they are missing or others than its lock file names.
set -eu
cd "$(dirname "$0")"
cmp -s package-lock.json node_modules/.installed && exit
npm ci
cp package-lock.json node_modules/.installed
