/** A word of a program for the kernel's filter of system calls (seccomp(2), classic BPF). */
type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, value: number];

/** The refused system calls of one kind of processor. */
interface Calls {
  /** Number in the kernel (`AUDIT_ARCH_*` in linux/audit.h). */
  arch: number;
  ioctl: number;
  /** socket and socketpair. */
  sockets: readonly number[];
  /** clone and unshare. */
  spaces: readonly number[];
  /**
   * add_key, request_key and keyctl: the kernel's keyrings are shared with the user's other programs. And
   * socketcall of 32-bit programs, which would hide the kind of socket from the filter.
   */
  never: readonly number[];
}

/** System calls by processor. The order is irrelevant; the second of a pair runs 32-bit programs. */
const CALLS: Readonly<Record<string, readonly Calls[]>> = {
  x64: [
    { arch: 0xc000003e, ioctl: 16, sockets: [41, 53], spaces: [56, 272], never: [248, 249, 250] },
    {
      arch: 0x40000003,
      ioctl: 54,
      sockets: [359, 360],
      spaces: [120, 310],
      never: [286, 287, 288, 102],
    },
  ],
  arm64: [
    { arch: 0xc00000b7, ioctl: 29, sockets: [198, 199], spaces: [220, 97], never: [217, 218, 219] },
    {
      arch: 0x40000028,
      ioctl: 54,
      sockets: [281, 288],
      spaces: [120, 337],
      never: [309, 310, 311, 102],
    },
  ],
};

/** io_uring_setup, _enter and _register, on all processors: operations through a ring pass no filter. */
const IO_URING = [425, 426, 427];
/**
 * Kinds of sockets that namespaces and mounts keep apart: AF_UNIX, AF_INET, AF_INET6 and AF_NETLINK. Any
 * other may lead out, as AF_VSOCK does to the machine around a virtual one.
 */
const FAMILIES = [1, 2, 10, 16];
/**
 * Flag of a new user namespace. The root user of one may leave the mounts of the sandbox behind, and then move what a
 * mount holds in its place. The filter cannot see the flags of clone3; without it the C library uses clone.
 */
const NEW_USER = 0x10000000;
const CLONE3 = 435;
/** TIOCSTI and TIOCLINUX, which put characters into a terminal as if they had been typed. */
const TYPING = [0x5412, 0x541c];

const LOAD = 0x20;
const IF_EQUAL = 0x15;
const IF_AT_LEAST = 0x35;
const IF_ANY = 0x45;
const RETURN = 0x06;
const ALLOW = 0x7fff0000;
/** EPERM. */
const REFUSE = 0x00050001;
/** ENOSYS: as if the kernel did not know the call. */
const UNKNOWN = 0x00050026;
/** Offsets of the call's number, the kind of processor, and the low halves of two arguments. */
const AT = { call: 0, arch: 4, first: 16, second: 24 };
/** First number of x32 calls on x64; nothing uses them. */
const X32 = 0x40000000;

/**
 * Builds the filter of system calls for a sandbox, in the form that bubblewrap reads: calls that namespaces do not keep
 * apart are refused with EPERM. For other kinds of processors there is none.
 *
 * @param nests whether programs in it may make user namespaces, as for sandboxes of their own
 */
export function callFilter(processor: string, { nests }: { nests: boolean }): Buffer | undefined {
  const kinds = CALLS[processor];
  if (kinds === undefined) return undefined;
  const refuse: Instruction = [RETURN, 0, 0, REFUSE];
  const allow: Instruction = [RETURN, 0, 0, ALLOW];
  const ifFamily = FAMILIES.flatMap((family): Instruction[] => [[IF_EQUAL, 0, 1, family], allow]);
  const socket: Instruction[] = [[LOAD, 0, 0, AT.first], ...ifFamily, refuse];
  const space: Instruction[] = [[LOAD, 0, 0, AT.first], [IF_ANY, 0, 1, NEW_USER], refuse, allow];
  const unknown: Instruction = [RETURN, 0, 0, UNKNOWN];
  const program = kinds.flatMap(({ arch, ioctl, sockets, spaces, never }): Instruction[] => {
    const nesting = spaces.flatMap((call): Instruction[] => [
      [IF_EQUAL, 0, space.length, call],
      ...space,
    ]);
    const calls: Instruction[] = [
      [LOAD, 0, 0, AT.call],
      ...(arch === 0xc000003e ? jumpOver(IF_AT_LEAST, X32) : []),
      ...[...never, ...IO_URING].flatMap((call) => jumpOver(IF_EQUAL, call)),
      ...sockets.flatMap((call): Instruction[] => [[IF_EQUAL, 0, socket.length, call], ...socket]),
      ...(nests ? [] : [...nesting, [IF_EQUAL, 0, 1, CLONE3] as const, unknown]),
      // Any call but ioctl is allowed, without further checks.
      [IF_EQUAL, 1, 0, ioctl],
      allow,
      [LOAD, 0, 0, AT.second],
      ...TYPING.flatMap((request) => jumpOver(IF_EQUAL, request)),
      allow,
    ];
    return [[LOAD, 0, 0, AT.arch], [IF_EQUAL, 0, calls.length, arch], ...calls];
  });
  // An unknown kind of processor.
  program.push(refuse);
  const bytes = Buffer.alloc(program.length * 8);
  for (const [index, [code, ifTrue, ifFalse, value]] of program.entries()) {
    bytes.writeUInt16LE(code, index * 8);
    bytes.writeUInt8(ifTrue, index * 8 + 2);
    bytes.writeUInt8(ifFalse, index * 8 + 3);
    bytes.writeUInt32LE(value, index * 8 + 4);
  }
  return bytes;

  /** Refuses if a comparison holds, and goes on otherwise. */
  function jumpOver(comparison: number, value: number): Instruction[] {
    return [[comparison, 0, 1, value], refuse];
  }
}
