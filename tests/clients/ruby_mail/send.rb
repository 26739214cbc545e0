# Send by SMTP with the library mail, which is that of Rails. Environment: SMTP_HOST, SMTP_PORT,
# SMTP_TLS (starttls or implicit), API_KEY, AUTHORITY, FROM, TO.
require 'mail'

implicit = ENV['SMTP_TLS'] == 'implicit'
mail = Mail.new do
  from "Ann <#{ENV['FROM']}>"
  to ENV['TO']
  subject 'Grüße'
  text_part { body 'Hello from Ruby' }
  html_part do
    content_type 'text/html; charset=UTF-8'
    body '<p>Hello from Ruby</p>'
  end
  add_file filename: 'notes.txt', content: 'kept'
end
mail.header['X-SVC-API'] = '{"campaign_id": "clients"}'
mail.delivery_method :smtp,
                     address: ENV['SMTP_HOST'],
                     port: ENV['SMTP_PORT'].to_i,
                     user_name: 'SMTP_Injection',
                     password: ENV['API_KEY'],
                     authentication: :plain,
                     tls: implicit,
                     enable_starttls_auto: !implicit,
                     ca_file: ENV['AUTHORITY']
mail.deliver!
