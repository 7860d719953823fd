#!/bin/sh
# Installs n8n's engine, if it is missing or another than the lock file names.
set -eu
cd "$(dirname "$0")"
cmp -s package-lock.json node_modules/.installed && exit
npm ci --ignore-scripts
cp package-lock.json node_modules/.installed
