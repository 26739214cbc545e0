# Send by SMTP with Email::Sender. Environment: SMTP_HOST, SMTP_PORT, SMTP_TLS (starttls or
# implicit), API_KEY, AUTHORITY, FROM, TO.
use strict;
use warnings;
use Email::Sender::Simple qw(sendmail);
use Email::Sender::Transport::SMTP;

my $transport = Email::Sender::Transport::SMTP->new({
    host => $ENV{SMTP_HOST},
    port => $ENV{SMTP_PORT},
    ssl => $ENV{SMTP_TLS} eq 'implicit' ? 'ssl' : 'starttls',
    ssl_options => { SSL_ca_file => $ENV{AUTHORITY} },
    sasl_username => 'SMTP_Injection',
    sasl_password => $ENV{API_KEY},
});
my $message = <<"END";
From: Ann <$ENV{FROM}>
To: $ENV{TO}
Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=
X-SVC-API: {"campaign_id": "clients"}
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="limit"

--limit
Content-Type: text/plain; charset=utf-8

Hello from Email::Sender
--limit
Content-Type: text/plain
Content-Disposition: attachment; filename="notes.txt"

kept
--limit--
END
sendmail($message, { transport => $transport, from => $ENV{FROM}, to => $ENV{TO} });
