// A text taken apart by a pointer of the state.
//
// expect: states=10 transitions=9 verdict=holds

c_decl { char text[] = "a,bb,ccc"; char *pos = text; 
 int token(char *out) { int n = 0; while (*pos && *pos != ',') { out[n++] = *pos++; } out[n] = '\0'; if (*pos == ',') pos++; return n; } }
c_track "&pos" "sizeof(char *)"
c_track "text" "sizeof(text)"
byte n;
active proctype P() { do :: c_expr { *pos != 0 } -> c_code { char tok[8]; now.n = token(tok); if (tok[0] == 'c') now.n += 10; } :: else -> break od; assert(n == 13) }
