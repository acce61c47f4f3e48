// Texts by sprintf and snprintf.
//
// expect: states=4 transitions=3 verdict=holds

c_decl { \#include <stdio.h>
\#include <string.h>
}
int v = -12; byte ok; byte c = 65;
active proctype P() { c_code { char b[128]; int n = sprintf(b, "<%d|%5d|%-5d|%05d|%x|%X|%o|%u|%c|%s|%8s|%-4s|%%|%ld|%lu|%.2s>", now.v, now.v, now.v, now.v, 255, 171, 8, 4000000000u, now.c, "mid", "right", "l", -5000000000l, 18446744073709551615ul, "abc");
  now.ok = strcmp(b, "<-12|  -12|-12  |-0012|ff|AB|10|4000000000|A|mid|   right|l   |%|-5000000000|18446744073709551615|ab>") == 0 && n == strlen(b);
  char s[4]; int k = snprintf(s, sizeof(s), "%s", "longer"); now.ok += k == 6 && strcmp(s, "lon") == 0; }; assert(ok == 2) }
