#!/bin/sh
# Send by git send-email, as developers send patches. Environment: SMTP_HOST, SMTP_PORT, SMTP_TLS
# (starttls or implicit), API_KEY, AUTHORITY, FROM, TO.
case $SMTP_TLS in
  implicit) encryption=ssl ;;
  *) encryption=tls ;;
esac
patch=$(mktemp)
trap 'rm -f "$patch"' EXIT
cat > "$patch" <<EOF
From: Ann <$FROM>
Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=
X-SVC-API: {"campaign_id": "clients"}
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="limit"

--limit
Content-Type: text/plain; charset=utf-8

Hello from git
--limit
Content-Type: text/plain
Content-Disposition: attachment; filename="notes.txt"

kept
--limit--
EOF
git send-email --smtp-server="$SMTP_HOST" --smtp-server-port="$SMTP_PORT" \
  --smtp-encryption=$encryption --smtp-ssl-cert-path="$AUTHORITY" \
  --smtp-user=SMTP_Injection --smtp-pass="$API_KEY" \
  --from="Ann <$FROM>" --to="$TO" --suppress-cc=all --confirm=never "$patch"
