#!/bin/sh
# Send by curl. Environment: SMTP_HOST, SMTP_PORT, SMTP_TLS (starttls or implicit), API_KEY,
# AUTHORITY, FROM, TO.
case $SMTP_TLS in
  implicit) scheme=smtps ;;
  *) scheme=smtp ;;
esac
# --crlf: lines of a message end with CRLF, and curl sends a file as it is
curl -sS -v --crlf --url "$scheme://$SMTP_HOST:$SMTP_PORT" --ssl-reqd --cacert "$AUTHORITY" \
  --user "SMTP_Injection:$API_KEY" --mail-from "$FROM" --mail-rcpt "$TO" --upload-file - <<EOF
From: Ann <$FROM>
To: $TO
Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=
X-SVC-API: {"campaign_id": "clients"}
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="limit"

--limit
Content-Type: text/plain; charset=utf-8

Hello from curl
--limit
Content-Type: text/plain
Content-Disposition: attachment; filename="notes.txt"

kept
--limit--
EOF
