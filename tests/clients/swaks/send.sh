#!/bin/sh
# Send by swaks. Environment: SMTP_HOST, SMTP_PORT, SMTP_TLS (starttls or implicit), API_KEY,
# AUTHORITY, FROM, TO.
case $SMTP_TLS in
  implicit) tls=--tls-on-connect ;;
  *) tls=--tls ;;
esac
exec swaks --server "$SMTP_HOST" --port "$SMTP_PORT" $tls --tls-verify --tls-ca-path "$AUTHORITY" \
  --auth --auth-user SMTP_Injection --auth-password "$API_KEY" \
  --from "$FROM" --to "$TO" \
  --h-From "Ann <$FROM>" --h-Subject '=?utf-8?q?Gr=C3=BC=C3=9Fe?=' \
  --add-header 'X-SVC-API: {"campaign_id": "clients"}' \
  --body 'Hello from swaks' --attach-name notes.txt --attach-type text/plain --attach 'kept'
