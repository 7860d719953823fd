#!/bin/sh
# Installs Debian's Chromium where it is missing, which takes root.
set -eu
[ -x /usr/bin/chromium ] && exit
apt-get update -q
DEBIAN_FRONTEND=noninteractive apt-get install -yq --no-install-recommends chromium
