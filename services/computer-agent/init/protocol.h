// The protocol between the agent and the init of a computer: frames over a unix stream socket.
//
// A frame is   type (1 byte) | channel (u32) | length of the payload (u32) | payload,   integers little-endian.
// A channel is a number that the agent chooses for one exec or stream of a connection. An exec has an id that outlives
// connections, so that a new agent can attach to it. A stream ends with its connection.
//
//   agent -> init
//     E  start an exec: u32 timeout_ms, u32 output_max, u32 env_count, u32 flags (EXEC_...),
//        then id\0 command\0 cwd\0, env_count times NAME=value\0, and the bytes of stdin up to the frame's end.
//        An exec whose id is known is attached to, not run again.
//     A  attach to the exec of this id: id\0
//     W  u32 further bytes of output that may be sent on the channel of a streamed exec
//     K  kill the process tree of the channel's exec
//     R  the result of the channel's exec was received: forget it, or detach from it if its result is kept
//     L  list the execs
//     M  read small files, for metrics: their paths, each with \0
//     T  end the computer, as Docker's SIGTERM does; the answer is that the connection closes
//   and for streams:
//     s  open one: u32 kind, u32 credit (bytes it may send before a grant), u16 port or columns, u16 rows;
//        for a terminal, to the frame's end, NAME=value\0 of its environment
//     d  bytes into the stream, no more than were granted
//     g  u32 further bytes that the stream may send
//     w  the size of a terminal: u16 columns, u16 rows
//     z  no more bytes follow; of a terminal: hang up
//     c  close the stream, and kill a terminal's processes
//
//   init -> agent
//     H  once, at connect: u32 version
//     O  output of the channel's exec, from the beginning and in order
//     X  its end, after all output: u32 status (as waitpid gives it), u32 flags, u64 bytes written in all, u64 duration_us
//     F  it could not be started, or its end is unknown: a code\0 and a message\0
//     L  answer to L: for each exec '+' (running) or '-' (finished), or '*' and '=' if its result is kept, then id\0
//     M  answer to M: for each path u32 size, or UINT32_MAX if unreadable, and that many bytes
//   and for streams:
//     d  bytes out of the stream
//     g  u32 further bytes that the agent may send; the first grant means that the stream is open
//     z  no more bytes come; the other way goes on
//     y  the stream is over, after all its bytes: u32 status of the terminal's shell (as waitpid gives it), 0 for TCP
//     F  it could not be opened, or was reset: a code\0 and a message\0
#pragma once

#define PROTOCOL_VERSION 4
#define FRAME_HEAD_BYTES 9
// More than a command (64 KiB), its environment and its stdin (1 MiB).
#define FRAME_PAYLOAD_BYTES_MAX (8u << 20)
#define EXEC_ID_BYTES_MAX 64
#define OUTPUT_BYTES_MAX (16u << 20)
#define TIMEOUT_MS_MAX (48u * 3600 * 1000)

#define EXEC_HAS_STDIN 1u
// Output above output_max is not dropped, but sent as the agent consumes it; meanwhile the command waits.
#define EXEC_STREAMED 2u
// The result is kept after it was received.
#define EXEC_KEPT 4u

#define FLAG_TIMED_OUT 1u
#define FLAG_TRUNCATED 2u
#define FLAG_CANCELLED 4u

enum stream_kind { STREAM_TCP = 1, STREAM_TERMINAL = 2 };
