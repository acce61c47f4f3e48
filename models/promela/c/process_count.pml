// A piece of C reads the number of processes.
//
// expect: states=49 transitions=91 verdict=holds

byte n;
active [3] proctype Q() {
  c_code { if (now._nr_pr == 3) now.n += PQ->_pid; };
  n > 0
}
