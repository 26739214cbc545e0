"""What refusing hosts write, and the bounce class of each way of saying it.

`RULES` is read from the top: the first rule with a phrase in the reply decides, so what is
particular stands above what is general ("mailbox full" above "mailbox unavailable", a block list's
name above "access denied"). A phrase is literal lower-case text in which ` .. ` stands for a gap of
up to `GAP` characters; nothing in it repeats without bound, so a search takes time linear in the
reply. `ENHANCED` and `BASIC` decide for replies in which no rule finds anything, by the enhanced
status code (RFC 3463, RFC 5248) and by the reply code (RFC 5321 4.2).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from chalicelib.core.bounce_classes import (
    ADMIN_FAILURE,
    AUTO_REPLY,
    CHALLENGE_RESPONSE,
    DNS_FAILURE,
    GENERIC_BOUNCE,
    INVALID_RECIPIENT,
    MAIL_BLOCK,
    MAILBOX_FULL,
    NO_RECIPIENT,
    PROHIBITED_ATTACHMENT,
    RELAYING_DENIED,
    SOFT_BOUNCE,
    SPAM_BLOCK,
    SPAM_CONTENT,
    SUBSCRIBE,
    TIMEOUT,
    TOO_LARGE,
    TRANSIENT_FAILURE,
    UNSUBSCRIBE,
)

GAP = 40
"""The most characters that ` .. ` in a phrase stands for."""


@dataclass(frozen=True)
class Rule:
    """Phrases, one a line, that put a reply into `bounce_class`."""

    bounce_class: int
    about: str
    phrases: str

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Any of the phrases; made when it is first needed, which most processes never do."""
        phrases = (line.strip() for line in self.phrases.strip().splitlines())
        return re.compile("|".join(map(_expression, phrases)))


def _expression(phrase: str) -> str:
    """Return a phrase as an expression; it begins where a word does."""
    parts = map(re.escape, phrase.split(" .. "))
    return (r"\b" if phrase[0].isalnum() else "") + f".{{0,{GAP}}}?".join(parts)


RULES = (
    Rule(
        TIMEOUT,
        "the time for delivery is over",
        """
        message timeout
        message expired
        delivery expired
        delivery time expired
        delivery time-out
        retry timeout exceeded
        retry time not reached
        exceeded max time
        too long in queue
        in queue too long
        """,
    ),
    Rule(
        UNSUBSCRIBE,
        "the recipient wants no more of this",
        """
        has unsubscribed
        have unsubscribed
        asked to be unsubscribed
        wishes to unsubscribe
        requested removal from
        requested to be removed
        asked to be removed
        remove this address from your list
        remove me from your list
        remove this recipient from your
        no longer wishes to receive
        has opted out
        """,
    ),
    Rule(
        SUBSCRIBE,
        "a wish to subscribe",
        """
        subscription request
        request to subscribe
        confirm your subscription
        """,
    ),
    Rule(
        CHALLENGE_RESPONSE,
        "the sender must confirm first",
        """
        challenge-response
        challenge/response
        challenge response
        sender must confirm
        confirm that you sent
        confirm you are human
        confirm you are a human
        prove you are human
        prove you are a human
        please verify yourself
        to deliver your message, click
        approve this sender
        awaiting sender confirmation
        boxbe
        spamarrest
        tmda
        """,
    ),
    Rule(
        AUTO_REPLY,
        "an automatic answer",
        """
        out of office
        out of the office
        out-of-office
        auto-reply
        autoreply
        auto reply
        automatic reply
        autoresponder
        on vacation
        """,
    ),
    Rule(
        TRANSIENT_FAILURE,
        "grey listing, and more messages or connections than are taken at once",
        """
        greylist
        grey list
        grey-list
        graylist
        gray list
        postgrey
        message quota exceeded for
        receiving mail too quickly
        receiving email too quickly
        receiving mail at a rate
        receiving email at a rate
        limit for the number of messages they can receive
        too many messages .. per hour
        too many messages .. this hour
        too many recipients .. this hour
        too many recipients .. per hour
        per hour .. exceeded
        hourly .. limit
        daily user sending
        daily limit
        daily message limit
        send limit exceeded
        sending limit
        sending quota
        receiving limit exceeded
        recipient thread limit
        thread limit exceeded
        frequency limited
        too frequent
        too many connections
        too many concurrent
        too many simultaneous
        too many sessions
        too many smtp sessions
        too many open connections
        trop de connexions
        concurrent connections .. exceed
        maximum number of concurrent
        connection limit
        connection rate
        connections limit
        max message per connection
        too many messages for this session
        messages for this connection
        messages per connection
        too many emails
        too much mail
        too many mails
        too many recipients .. try again
        recipient rate
        message rate
        throttl
        come back later
        slow down
        please retry later with
        rp:qrc
        rp:rcl
        """,
    ),
    Rule(
        MAIL_BLOCK,
        "rate limits for want of authentication",
        """
        rate limited because .. spf
        rate limited because .. dkim
        rate limited because .. dmarc
        rate limited because .. auth
        rate limited because .. ptr
        rate limited because .. tls
        rate limited because .. transmitted over
        """,
    ),
    Rule(
        SPAM_BLOCK,
        "the sender's rate is cut for its repute",
        """
        rate limited due to ip reputation
        rate limit .. reputation
        unusual rate of unsolicited
        excessive complaints
        user complaints
        permanently deferred
        unusual sending activity
        too many errors from your ip
        too many invalid recipients
        too many unknown users
        too many bad recipients
        too many spams from your ip
        excessive unknown recipients
        exceeded .. spam .. threshold
        excessive spam
        """,
    ),
    Rule(
        TRANSIENT_FAILURE,
        "rate limits for no other reason",
        """
        rate limit
        rate-limit
        ratelimit
        exceeded the rate
        """,
    ),
    Rule(
        MAILBOX_FULL,
        "no room in the mailbox",
        """
        mailbox full
        mailbox is full
        mailbox for .. is full
        mailbox .. is full
        mailbox .. overfull
        mailbox exceeds allowed size
        mailbox size limit exceeded
        mailbox has exceeded
        mailbox would exceed
        mailbox limit exceed
        mailbox has reached
        mailbox storage
        mail box full
        mail box is full
        mail box size limit
        inbox is full
        inbox full
        mailfolder is full
        space has been used up
        too many messages on the server
        exceeding receiving limits
        file size exceeds the maximum size allowed for mail delivery
        folder is full
        account is full
        account full
        user is full
        recipient is full
        storage full
        storage is full
        storage limit
        storage quota
        storage space
        out of storage
        not enough storage
        insufficient storage for
        exceeded storage allocation
        exceeds storage allocation
        exceeded its storage
        exceeded their storage
        over quota
        overquota
        over-quota
        over its quota
        over the quota
        over allowed quota
        over the allowed
        over the maximum allowed mailbox
        over his quota
        quota exceed
        quota is exceed
        quota has been exceeded
        quota full
        quota is full
        quota violation
        quota limit
        mapiexceptionshutoffquotaexceeded
        quotaexceededexception
        exceeds .. quota
        exceed .. quota
        exceeded .. quota
        exceeds the quota
        exceeding .. quota
        exceeded mailbox
        exceeds mailbox
        out of quota
        not enough space in .. mailbox
        no space left in mailbox
        no space for this user
        disk quota
        boite .. pleine
        boîte .. pleine
        postfach .. voll
        postfach ist voll
        speicherplatz .. erschöpft
        casella .. piena
        casilla llena
        buzon lleno
        buzón lleno
        caixa postal cheia
        caixa de correio cheia
        skrzynka .. pełna
        skrzynka .. pelna
        邮箱已满
        """,
    ),
    Rule(
        TOO_LARGE,
        "the message is too large",
        """
        message size exceed
        message exceeds
        message too large
        message too big
        message too long
        message is too large
        message is too big
        message larger than
        message is larger than
        message length exceed
        message file too big
        mail size exceed
        mail size limit
        mail too large
        mail is too large
        mail data too large
        email is too large
        size exceeds
        size limit exceeded
        size limits
        exceeded .. message size
        exceeds .. message size
        exceeds maximum size
        exceeds the maximum size
        exceeds size limit
        exceeds limit of .. bytes
        exceeds fixed limit
        exceeds administrative limit
        exceeds my databytes
        databytes limit
        maximum message size
        max message size
        message size limit
        recipsizelimit
        body too large
        too much data
        too much mail data
        nachricht ist zu gross
        nachricht ist zu groß
        """,
    ),
    Rule(
        SPAM_CONTENT,
        "spam, or worse",
        """
        spam or virus
        spam/virus
        virus or spam
        spam or malware
        spam content
        spam pattern
        blacklisted url
        blocked url
        """,
    ),
    Rule(
        PROHIBITED_ATTACHMENT,
        "something attached is not allowed",
        """
        virus
        malware
        infected
        trojan
        eicar
        banned file
        banned attachment
        banned:
        banned extension
        potential security issue
        dangerous attachment
        executable
        attachment not allowed
        attachment is not allowed
        attachment type
        attachment rejected
        attachment blocked
        attachment .. prohibited
        attachments .. prohibited
        attachment .. not allowed
        attachments .. not allowed
        attachment .. not accepted
        attachments .. not accepted
        attachments .. not permitted
        attachment .. not permitted
        attachment .. blocked
        attachments .. blocked
        attachments .. exceeds
        number of attachments
        blocked attachment
        prohibited attachment
        forbidden attachment
        unacceptable attachment
        illegal attachment
        disallowed attachment
        contains .. file extension
        file type .. not allowed
        file extension .. not allowed
        file types .. blocked
        password protected archive
        encrypted archive
        """,
    ),
    Rule(
        MAIL_BLOCK,
        "who is allowed to write to a group or a mailbox",
        """
        restrictedtorecipientspermission
        sendernotauthenticatedforgroup
        sendernotauthenticatedformailbox
        usernotmember
        sender not allowed to send
        not authorized to send to
        not allowed to send to this
        only accepts mail from
        only accepts messages from
        only accepts email from
        only receive .. from
        """,
    ),
    Rule(
        RELAYING_DENIED,
        "the host does not relay",
        """
        relaying denied
        relaying not allowed
        relaying is not allowed
        relaying not permitted
        relaying is prohibited
        relaying prohibited
        relaying is denied
        relay denied
        relay access denied
        relay not permitted
        relay not allowed
        relay is not
        relay prohibited
        relay attempt
        relay rejected
        relay operation
        relay this message
        relay through this
        not permitted to relay
        allowed to relay
        not authorized to relay
        unable to relay
        cannot relay
        do not relay
        does not relay
        don't relay
        won't relay
        will not relay
        refused to relay
        no relay
        not a relay
        not an open relay
        allowed rcpthosts
        domain not allowed here
        not a gateway
        domain .. not hosted here
        we do not host
        not our domain
        domain is not local
        not in my control
        not a local domain
        domain isn't allowed to be relayed
        must be authenticated
        must authenticate
        client was not authenticated
        client not authenticated
        authentication required
        authentication is required
        authentication needed
        authentication credentials
        authentication failed
        authentication unsuccessful
        invalid credentials
        username and password not accepted
        pop before smtp
        please authenticate
        smtp authentication
        requires authentication
        """,
    ),
    Rule(
        SPAM_CONTENT,
        "a web address inside the message",
        """
        surbl
        uribl
        dbl in body
        url .. blocked
        url .. listed
        url .. black
        url in the
        url in this
        urls in
        link .. blocked
        links .. not allowed
        blocked link
        body .. listed
        body .. black
        """,
    ),
    Rule(
        SPAM_BLOCK,
        "a source of spam: block lists and reputation",
        """
        spamhaus
        spamcop
        sorbs
        uceprotect
        sbl-
        xbl
        ivmsip
        barracudacentral
        barracuda reputation
        barracudanetworks
        abuseat
        mailspike
        invaluement
        senderscore
        senderbase
        surriel
        psbl
        manitu
        junkemailfilter
        dronebl
        dnsbl
        dns_rbl
        rbl+
        rbl rejection
        an rbl
        a rbl
        the rbl
        our rbl
        in rbl
        by rbl
        rbl:
        dnsrbl
        attrbl
        abuse_rbl
        block list
        blocklist
        block-list
        black list
        blacklist
        black-list
        deny list
        denylist
        dynablock
        listed at
        are listed
        been listed
        ip listed
        address listed
        host listed
        listing in
        : listed in
        listed by
        listed as abusive
        listed in zen
        rejected using
        the sbl
        sbl rbl
        listed on
        is listed
        blocked using
        blocked by using
        ipcheck.proofpoint
        csi.cloudmark
        cloudmark sender
        cyren ip
        trend micro
        email reputation
        ip reputation
        poor reputation
        bad reputation
        low reputation
        reputation of
        reputation sender
        reputation is
        sender reputation
        domain reputation
        reputation score
        reputation below
        negative reputation
        blocked for spam
        blocked for abuse
        spam source
        spam sender
        spam originating
        spam received from
        spam from your
        sending spam
        sends spam
        source of spam
        source of unsolicited
        spammer
        suspected spam ip
        spam abuse
        spam trap
        spamtrap
        banned sending ip
        bad outbound sender
        banned sender
        banned for
        banned due
        is banned
        ip .. banned
        part of their network is on our
        traffic not accepted from this ip
        tenant has exceeded
        s3140
        s3150
        (rtr:
        (con:b
        (dyn:
        (rly:b
        hl:rep
        mi:spb
        ofr_506
        ofr_999
        anti-spam system
        ip .. blocked
        ip address .. blocked
        ip address .. black
        your ip .. blocked
        host .. blocked
        your server .. blocked
        is_blocked
        blocked - see
        server .. is blocked
        from your ip
        sender ip
        open proxy
        rejected based on geographical
        currently blocked
        has been blocked by
        address is blocked
        connections will not be accepted from
        ask your postmaster for help
        """,
    ),
    Rule(
        MAIL_BLOCK,
        "the sender's address or its domain is not believed",
        """
        sender domain
        sender's domain
        sender address
        sender rejected
        sender denied
        sender verify failed
        sender verification
        sender callout
        callout verification
        could not complete sender verify
        verify sender
        verification failed for
        verify return path
        invalid sender
        sender is invalid
        sender invalid
        sender .. has no
        sender not
        sender unknown
        unknown sender
        envelope sender .. not
        badmailfrom
        mail from domain
        mail from .. does not exist
        mail from .. not resolve
        return path .. does not exist
        invalid dns mx or a
        return mx does not exist
        from address .. not exist
        from address .. verif
        from address .. valid
        from: header
        from header
        """,
    ),
    Rule(
        MAIL_BLOCK,
        "authentication of the sender: SPF, DKIM, DMARC, PTR, HELO, TLS",
        """
        dmarc
        dkim
        spf
        sender policy framework
        unauthenticated
        authentication check
        authentication information
        authentication level
        not authenticated
        antispoofing
        spoof
        domain owner policy
        reverse dns
        rdns
        reverse lookup
        reverse name
        ptr
        reverse hostname
        cannot find your hostname
        cannot find your reverse
        invalid ip for sending
        not in whitelist
        cannot resolve your
        resolve your address
        helo command
        helo name
        helo argument
        helo host
        helo domain
        helo rejected
        helo is
        helo/ehlo
        invalid helo
        bad helo
        your helo
        ehlo command
        ehlo name
        ehlo argument
        ehlo hostname
        invalid ehlo
        bad ehlo
        your ehlo
        generic dns
        generic hostname
        dynamic ip
        dynamic address
        dynamic host
        residential
        dial-up
        dialup
        starttls
        tls required
        requires tls
        must use tls
        encryption required
        """,
    ),
    Rule(
        MAIL_BLOCK,
        "a policy, whatever else the reply says",
        """
        policy restriction
        rejected by policy
        refused by policy
        blocked by policy
        """,
    ),
    Rule(
        MAIL_BLOCK,
        "the form of the message",
        """
        rfc 5322
        rfc 2822
        rfc5322
        rfc2822
        duplicate header
        message does not have
        message doesn't have
        header is missing
        missing header
        date header
        message-id header
        messageid header
        """,
    ),
    Rule(
        SPAM_CONTENT,
        "the message looks like spam",
        """
        likely unsolicited
        unsolicited .. message
        unsolicited .. mail
        unsolicited .. email
        unsolicited bulk
        unsolicited commercial
        likely suspicious
        message is suspicious
        suspicious message
        suspicious content
        is spam
        as spam
        like spam
        spam message
        spam-like
        spamlike
        spam detected
        spam mail
        spam email
        spam e-mail
        spam score
        spam points
        spam probability
        spam filter
        spam signature
        spam rejected
        spam refused
        spam is not
        spam not accepted
        suspected spam
        suspicion of spam
        possible spam
        probable spam
        probably spam
        considered spam
        classified spam
        identified spam
        detected spam
        contains spam
        be spam
        no spam
        - spam
        (spam)
        [spam]
        spamassassin
        spam-assassin
        mcspamsignature
        junk mail
        junkmail
        junk email
        ube, id
        uce, id
        dt:spm
        (hvu:
        phish
        scam
        fraudulent
        malicious
        content denied
        content not accepted
        content is not accepted
        content refused
        content blocked
        content filter
        content restriction
        content policy
        content examination
        content reject
        content violation
        unacceptable content
        prohibited content
        objectionable content
        inappropriate content
        offensive
        due to content
        because of content
        because of its content
        based on its content
        content of this message
        content of the message
        contents of this
        message contains .. prohibited
        message contains .. forbidden
        mail appears to be unsolicited
        message filtered
        blocked by filter
        bulk mail
        bulk email
        gtube
        """,
    ),
    Rule(
        NO_RECIPIENT,
        "nobody is left to deliver to",
        """
        no valid recipient
        no recipients
        no recipient specified
        no recipient given
        must have at least one recipient
        """,
    ),
    Rule(
        DNS_FAILURE,
        "the recipient's domain leads nowhere",
        """
        find the recipient domain
        recipient domain .. does not exist
        dns domain .. does not exist
        domain not found
        domain name not found
        domain lookup failed
        domain does not exist
        domain doesn't exist
        unknown domain
        no such domain
        bad destination system
        host not found
        host unknown
        unknown host
        host name lookup failure
        host lookup
        hostname lookup
        name server
        name service error
        nameserver
        nxdomain
        servfail
        dns query failed
        dns lookup
        dns error
        dns failure
        dns server
        dns timeout
        no mx
        mx lookup
        mx record
        mx host
        non-existent hosts
        find any host
        cannot find host
        could not resolve
        no route to host
        unable to route
        unroutable domain
        unrouteable mail domain
        unrouteable domain
        """,
    ),
    Rule(
        INVALID_RECIPIENT,
        "nobody of that name",
        """
        user unknown
        unknown user
        user not found
        user is not found
        user not known
        user not exist
        user does not exist
        user doesn't exist
        user not valid
        user invalid
        invalid user
        user is terminated
        user terminated
        user suspended
        user is suspended
        user is disabled
        user disabled
        user is inactive
        user inactive
        user unavailable
        user is unknown
        user .. is unknown
        user .. not found
        user .. does not exist
        user .. doesn't exist
        user .. doesn't have
        user .. doesnt have
        not a valid user
        not a known user
        not a user
        no user
        no such user
        nosuchuser
        no known user
        no such recipient
        no such address
        no such account
        no such email
        no such mail
        no such person
        no such local
        no such name
        no such alias
        no such id
        no mailbox
        no mail box
        no account
        no one by that name
        no one with
        nobody by
        nobody here
        no longer on server
        no longer on this server
        no longer available
        no longer active
        no longer in use
        no longer valid
        no longer exist
        no longer with
        no longer works
        no longer employed
        no longer accept
        no longer receiv
        not longer
        does not receive
        doesn't receive
        mailbox not found
        mailbox was not found
        mailbox does not exist
        mailbox doesn't exist
        mailbox not exist
        mailbox .. does not exist
        mailbox .. not found
        mailbox unknown
        unknown mailbox
        mailbox is unknown
        mailbox invalid
        invalid mailbox
        mailbox disabled
        mailbox is disabled
        mailbox is inactive
        mailbox inactive
        mailbox has been disabled
        mailbox has been blocked due to inactivity
        mailbox is closed
        mailbox closed
        mailbox currently suspended
        mailbox unavailable
        mailbox not available
        mailbox is unavailable
        mailbox is not available
        mailbox name not allowed
        mailbox name invalid
        mailbox syntax
        mailbox .. unavailable
        illegal alias
        illegal user
        account not found
        account is not found
        account does not exist
        account doesn't exist
        account .. does not exist
        account that you tried to reach
        account not available
        account unavailable
        account is unavailable
        account is disabled
        account disabled
        account has been disabled
        account is inactive
        account inactive
        account is suspended
        account suspended
        account has been suspended
        account closed
        account is closed
        account has been closed
        account has been deactivated
        account deactivated
        account deleted
        account has been deleted
        account expired
        account is locked
        unknown account
        invalid account
        recipient not found
        recipient is not found
        recipientnotfound
        exrecipnotfound
        recipnotfound
        recipient unknown
        recipient is unknown
        unknown recipient
        recipient .. unknown
        recipient does not exist
        recipient doesn't exist
        recipient not exist
        recipient .. does not exist
        recipient invalid
        recipient is invalid
        recipient is not valid
        invalid recipient
        not a valid recipient
        not valid recipient
        recipient no longer
        recipient disabled
        recipient is disabled
        recipient not recognized
        recipient not accepted
        recipient not ok
        recipient rejected
        recipient refused
        recipient unavailable
        recipient ok required
        bad recipient
        illegal recipient
        non-existent recipient
        addressee unknown
        address unknown
        address is unknown
        unknown address
        unknown email
        unknown local
        unknown or illegal
        unknown in virtual
        unknown in local
        unknown in relay
        address not found
        address was not found
        address could not be found
        user could not be found
        recipient could not be found
        mailbox could not be found
        address .. not found
        address does not exist
        address doesn't exist
        address not exist
        address .. does not exist
        address .. doesn't exist
        address not present
        address invalid
        address is invalid
        address not valid
        address is not valid
        address no longer
        address is disabled
        address is inactive
        address has been disabled
        address is no longer
        address not known
        address not recognized
        address not listed
        address unavailable
        address rejected: access denied
        address rejected: undeliverable
        address rejected: unknown
        address rejected: invalid
        address rejected: no such
        address rejected: user
        address rejected: not
        address rejected: mailbox
        address rejected: account
        address rejected: address
        address rejected: inactive
        undeliverable address
        invalid address
        bad address
        bad destination
        bad local
        destination address
        destination mailbox
        destination user
        unrouteable address
        unroutable address
        unresolvable address
        no valid mailbox
        not a mailbox
        not a local
        not local
        not active
        not activated
        badrcptto
        missing home directory
        unknown virtual user
        recipient .. not found
        recipient unrecognized
        recipient is not allowed
        recipient denied
        recipient .. denied
        accept user
        no one at this
        not a valid mailbox
        not a valid address
        not a valid email
        not a valid rfc
        not valid rfc
        not an active
        isn't a valid
        is not a member
        not our customer
        not have an account
        not have a account
        doesn't have a
        does not have a
        not known here
        not known at this
        not listed in
        null mx
        does not accept mail
        doesn't accept mail
        has moved
        has left
        retired
        deceased
        dd this user
        nie istnieje
        nie ma takiego
        brak konta
        sconosciuto
        inesistente
        destinatario errato
        desconocido
        desconhecido
        no existe
        nao existe
        não existe
        inexistente
        unbekannt
        existiert nicht
        inconnu
        destinataire invalide
        n'existe pas
        onbekend
        bestaat niet
        用户不存在
        收件人不存在
        """,
    ),
    Rule(
        TIMEOUT,
        "waiting took too long",
        """
        timed out
        timeout
        time-out
        time out
        """,
    ),
    Rule(
        ADMIN_FAILURE,
        "a rule on the sending side",
        """
        suppression list
        was suppressed
        been suppressed
        """,
    ),
    Rule(
        TRANSIENT_FAILURE,
        "trouble that the remote host expects to pass",
        """
        try again
        try later
        try after
        retry later
        please retry
        temporarily
        temporary
        temporarly
        defer
        busy
        overload
        load too high
        resources
        resource shortage
        system storage
        disk space
        disk full
        space shortage
        low on space
        service is currently unavailable
        service not available
        service unavailable, closing
        service currently unavailable
        shutting down
        connection expired
        closing connection
        closing channel
        lookup failure
        unverified address
        not yet
        """,
    ),
    Rule(
        SPAM_CONTENT,
        "spam, in any other words",
        """
        spam
        antispam
        bulk
        rejecting banned content
        """,
    ),
    Rule(
        MAIL_BLOCK,
        "policy, without a reason",
        """
        policy
        policies
        prohibited
        prohibition
        not permitted
        not allowed
        not authorized
        not authorised
        unauthorized
        permission
        access to this mail system
        your access to
        access rejected
        denied
        refused by
        connection refused
        connection rejected
        client host rejected
        mail refused
        message refused
        service refuse
        blocked
        banned
        forbidden
        transport.rules
        rejected by recipient
        rejected by the recipient
        mail rejected by
        will not accept
        not accepting mail from
        not accept mail from
        don't accept mail from
        not accepted from
        not want
        aup#
        bounce attacks
        requested action aborted [
        """,
    ),
    Rule(
        INVALID_RECIPIENT,
        "an address refused for no other reason",
        """
        address rejected
        rcpt to rejected
        does not exist
        doesn't exist
        not found
        """,
    ),
    Rule(
        GENERIC_BOUNCE,
        "refused, and no more said",
        """
        delivery error
        delivery not possible
        message not accepted
        mail not accepted
        message was not accepted
        message could not be delivered
        cannot be delivered
        requested action not taken
        requested action aborted
        requested mail action
        remote server returned
        service unavailable
        undeliverable
        syntax error
        protocol error
        bad sequence
        bad command
        command not
        command unrecognized
        unrecognized command
        not implemented
        not supported
        not recognized
        malformed
        mailloop
        hop count
        hops
        loop
        permanent failure
        permanent error
        general failure
        unspecified
        internal error
        internal server error
        local error
        error in processing
        rejected
        refused
        failed
        """,
    ),
)

ENHANCED = {
    "1.0": INVALID_RECIPIENT,
    "1.1": INVALID_RECIPIENT,
    "1.2": DNS_FAILURE,
    "1.3": INVALID_RECIPIENT,
    "1.4": INVALID_RECIPIENT,
    "1.6": INVALID_RECIPIENT,
    "1.7": MAIL_BLOCK,
    "1.8": MAIL_BLOCK,
    "1.10": INVALID_RECIPIENT,
    "2.0": SOFT_BOUNCE,
    "2.1": INVALID_RECIPIENT,
    "2.2": MAILBOX_FULL,
    "2.3": TOO_LARGE,
    "2.4": SOFT_BOUNCE,
    "3.0": SOFT_BOUNCE,
    "3.1": SOFT_BOUNCE,
    "3.2": SOFT_BOUNCE,
    "3.4": TOO_LARGE,
    "3.5": SOFT_BOUNCE,
    "4.1": SOFT_BOUNCE,
    "4.2": SOFT_BOUNCE,
    "4.3": DNS_FAILURE,
    "4.4": DNS_FAILURE,
    "4.5": SOFT_BOUNCE,
    "4.7": TIMEOUT,
    "5.3": SOFT_BOUNCE,
    "6.7": INVALID_RECIPIENT,
    "7.17": INVALID_RECIPIENT,
    "7.18": INVALID_RECIPIENT,
}
"""Bounce class by subject and detail of the enhanced status code."""

SUBJECTS = {"7": MAIL_BLOCK}
"""Bounce class by the subject alone, where the detail says nothing more."""

BASIC = {
    500: GENERIC_BOUNCE,
    501: GENERIC_BOUNCE,
    502: GENERIC_BOUNCE,
    503: GENERIC_BOUNCE,
    504: GENERIC_BOUNCE,
    521: MAIL_BLOCK,
    530: RELAYING_DENIED,
    535: RELAYING_DENIED,
    538: RELAYING_DENIED,
    552: MAILBOX_FULL,
    556: INVALID_RECIPIENT,
}
"""Bounce class by the reply code, where neither text nor enhanced status code helps."""
