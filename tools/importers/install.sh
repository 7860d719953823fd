#!/bin/sh
# Installs n8n's engine and Postman's converter, if they are missing or others than the lock file names.
set -eu
cd "$(dirname "$0")"
cmp -s package-lock.json node_modules/.installed && exit
npm ci --ignore-scripts
cp package-lock.json node_modules/.installed
