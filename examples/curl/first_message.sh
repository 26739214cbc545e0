#!/bin/sh
# Send a message, find it in the local mailbox and show its events.
set -eu
url=${POSTFINCH_URL:-http://localhost:8080}
key=${API_KEY:?set it to the key that the start prints}
to="ann+curl$$@inbox.test"

curl -sSf "$url/api/v1/transmissions" \
  -H "Authorization: $key" -H 'Content-Type: application/json' \
  -d '{
    "recipients": [{"address": "'"$to"'", "substitution_data": {"name": "Ann"}}],
    "content": {
      "from": "hello@example.test",
      "subject": "Hello {{name}}",
      "text": "Hello {{name}}"
    }
  }'
echo

# curl encodes the plus sign of the address
messages() {
  curl -sSf --get "$url/local/mailbox" --data-urlencode "to=$to"
}

# The message arrives within about a second
tries=0
until messages | grep -q '"id"'; do
  tries=$((tries + 1))
  if [ "$tries" -gt 50 ]; then
    echo "the message did not arrive" >&2
    exit 1
  fi
  sleep 0.2
done
messages
echo

curl -sSf --get "$url/api/v1/events/message" --data-urlencode "recipients=$to" \
  -H "Authorization: $key"
echo
