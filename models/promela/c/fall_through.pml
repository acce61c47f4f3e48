// A case that falls through, and an array of texts.
//
// expect: states=3 transitions=3 verdict=holds

c_decl { enum state { IDLE, RUN, STOP }; enum state st = IDLE; const char *names[] = { "idle", "run", "stop" }; }
c_track "&st" "sizeof(st)"
byte l;
active proctype P() { do :: c_code { switch (st) { case IDLE: st = RUN; break; case RUN: st = STOP; case STOP: if (st == STOP) st = IDLE; break; default: st = IDLE; } now.l = strlen(names[st]); } od }
