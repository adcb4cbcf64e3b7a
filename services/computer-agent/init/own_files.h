// Files of its own for a computer.
#pragma once

// All computers of an image share its files, and with a file the kernel's lock of who maps it, which every fork and every
// end of a process takes. Where one computer forks without end the others' commands waited for that lock, for seconds:
// its holder waits for turns that its computer no longer gets. So each takes a copy of what every command maps, a shell
// and all that this loads: a change of nothing makes the overlay of the image's files copy them (a few MB).
// To be called once, before any command. It runs a program of the image, for a moment. Where it does not work the files stay
// shared.
void take_own_files(void);
