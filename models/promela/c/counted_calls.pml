// A function that counts its calls.
//
// expect: states=4 transitions=3 verdict=holds

c_decl { int tries; int attempt() { return ++tries > 2; } }
c_track "&tries" "sizeof(int)"
active proctype P() { c_code { int ok = attempt(); ok = attempt(); ok = attempt(); tries = tries + ok - 1; }; assert(c_expr { tries == 3 }) }
