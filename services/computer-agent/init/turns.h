// How long a process may keep a core once it has its turn.
#pragma once

// The shorter the turns that a process asks for, the sooner it is given one: what answers a caller does little at a time,
// and must not wait until those who compute have had theirs. Its part of the processor stays what it is.
// In time slices of EEVDF (Linux 6.12; older kernels ignore it), which a group takes over from who is in it.
// `also_forks`: whether what it forks does the same.
void take_short_turns(int also_forks);
