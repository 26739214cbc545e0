"""Tell recipients' domains how mail reached their hosts by TLS (TLS-RPT, RFC 8460).

Each delivery process counts the sessions that it opens. Once a minute it adds the counts to those
of the day, for domains that ask for reports in the DNS. A report is sent in the night after.
"""
