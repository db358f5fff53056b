# SPDX-License-Identifier: BSD-3-Clause
# A process at the other end of a takeover that does what slated never does; Lua has no sockets that
# keep messages whole.
#     listen PATH STEP...     talks with the first who connects; says "listens" before
#     connect PATH STEP...
# A STEP: send:FILE (a message's bytes), keep:FILE (writes the next message there), hear (says a message's kind, and a
# refusal's sentence, or "ended"), hang (until it is killed), nobody (belongs to another user from now on).
use strict;
use warnings;
use Socket;

use constant { SEQPACKET => 5, MOST => 4096, REFUSED => 2, NOBODY => 65534, HANG_S => 600 };

my ($side, $path, @steps) = @ARGV;
$| = 1;
alarm HANG_S;
if (@steps && $steps[0] eq 'nobody') {
    shift @steps;
    $) = NOBODY . ' ' . NOBODY;
    $( = NOBODY;
    $< = $> = NOBODY;
}
socket(my $talk, PF_UNIX, SEQPACKET, 0) or die "socket: $!\n";
if ($side eq 'listen') {
    my $door = $talk;
    bind($door, pack_sockaddr_un($path)) && listen($door, 1) or die "listen: $!\n";
    print "listens\n";
    undef $talk;
    accept($talk, $door) or die "accept: $!\n";
} else {
    connect($talk, pack_sockaddr_un($path)) or die "connect: $!\n";
}
for my $step (@steps) {
    my ($what, $file) = split /:/, $step, 2;
    if ($what eq 'send') {
        open(my $in, '<:raw', $file) or die "$file: $!\n";
        local $/;
        send($talk, <$in>, MSG_NOSIGNAL) or print "cannot send\n";
    } elsif ($what eq 'keep' || $what eq 'hear') {
        my $got = recv($talk, my $bytes, MOST, 0);
        if (!defined $got || $bytes eq '') {
            print "ended\n";
            next;
        }
        if ($what eq 'keep') {
            open(my $out, '>:raw', $file) or die "$file: $!\n";
            print {$out} $bytes;
            next;
        }
        my $kind = (unpack 'L4', $bytes)[2];
        my ($said) = $kind == REFUSED ? substr($bytes, 16) =~ /([ -~]{4,})/ : ();
        print $said ? "refused: $said\n" : "kind $kind\n";
    } elsif ($what eq 'hang') {
        print "hangs\n";
        sleep HANG_S;
    }
}
