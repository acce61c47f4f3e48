// A text that grows by numbers.
//
// expect: states=207 transitions=342 verdict=holds

c_decl { \#include <stdio.h>
\#include <string.h>
char log[32]; int len(void) { return strlen(log); } }
c_track "log" "sizeof(log)"
byte n;
active [2] proctype P() {
  byte i;
  do
  :: i < 2 -> i++; c_code { char b[8]; snprintf(b, sizeof(b), "%d%c", (int) PP->_pid, 'x'); strcat(log, b); }
  :: i == 2 -> break
  od;
  assert(c_expr { len() <= 8 })
}
