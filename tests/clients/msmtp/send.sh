#!/bin/sh
# Send by msmtp, as cron and mail programs do. Environment: SMTP_HOST, SMTP_PORT, SMTP_TLS (starttls
# or implicit), API_KEY, AUTHORITY, FROM, TO.
case $SMTP_TLS in
  implicit) starttls=off ;;
  *) starttls=on ;;
esac
msmtp --file=/dev/null --host="$SMTP_HOST" --port="$SMTP_PORT" \
  --tls=on --tls-starttls=$starttls --tls-trust-file="$AUTHORITY" \
  --auth=on --user=SMTP_Injection --passwordeval='printf %s "$API_KEY"' \
  --from="$FROM" -t <<EOF
From: Ann <$FROM>
To: $TO
Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=
X-SVC-API: {"campaign_id": "clients"}
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="limit"

--limit
Content-Type: text/plain; charset=utf-8

Hello from msmtp
--limit
Content-Type: text/plain
Content-Disposition: attachment; filename="notes.txt"

kept
--limit--
EOF
