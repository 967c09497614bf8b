/** Where the forwarder listens in a sandbox that reaches some hosts. */
export const FORWARDER_PORT = 3128;

/**
 * Brings a port of the sandbox to a socket that is bound into it. It listens before its first process ends,
 * so that whoever waits for that finds it there. Perl starts in a tenth of the time that Node takes.
 */
const IN_PERL = `use Socket; my ($to) = @ARGV; my $p;
$SIG{PIPE} = "IGNORE";
socket(L, AF_INET, SOCK_STREAM, 0) && bind(L, sockaddr_in(${String(FORWARDER_PORT)}, INADDR_LOOPBACK)) && listen(L, 128) || exit 1;
defined($p = fork) || exit 1;
exit 0 if $p;
$SIG{CHLD} = "IGNORE";
sub pass { my ($from, $on) = @_;
  while (my $n = sysread($from, my $b, 65536)) { my $o = 0;
    while ($o < $n) { my $w = syswrite($on, $b, $n - $o, $o); return unless defined $w; $o += $w } }
  shutdown($on, 1) }
for (;;) { accept(C, L) || next;
  $p = fork; if (!defined($p) || $p) { close(C); next }
  close(L);
  socket(U, AF_UNIX, SOCK_STREAM, 0) && connect(U, sockaddr_un($to)) || exit 1;
  defined($p = fork) || exit 1;
  if ($p) { pass(\\*U, \\*C) } else { pass(\\*C, \\*U) }
  exit 0 }`;

/** The same where there is no Perl; says by a pipe that it listens. */
const IN_NODE = `const n=require('node:net');n.createServer(c=>{const o=n.connect(process.argv[1]);c.pipe(o).pipe(c);c.on('error',()=>o.destroy());o.on('error',()=>c.destroy())}).listen(${String(FORWARDER_PORT)},'127.0.0.1',()=>require('node:fs').writeFileSync('/tmp/.network','\\n'))`;

/** A forwarder that cannot start must not keep the command from starting. */
const START =
  'perl -e "$1" "$4" </dev/null >/dev/null 2>&1 || { mkfifo /tmp/.network; { "$2" -e "$3" "$4" </dev/null >/dev/null 2>&1 || echo > /tmp/.network; } & read -r _ < /tmp/.network; rm -f /tmp/.network; }; shift 4; exec "$@"';

/** The words before a command line in a sandbox that begin it with a forwarder to a socket. */
export function withForwarder(socket: string): string[] {
  return ['/bin/sh', '-c', START, 'sh', IN_PERL, process.execPath, IN_NODE, socket];
}
