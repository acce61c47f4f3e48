// A tracked structure that is counted up and set back.
//
// expect: states=10 transitions=10 verdict=holds

c_decl { typedef struct Coord { int x, y; } Coord; Coord pt; };
c_track "&pt" "sizeof(Coord)";
active proctype example() {
  do :: c_expr { pt.x < 4 } -> c_code { pt.x++; pt.y += pt.x; }
     :: c_expr { pt.x >= 4 } -> c_code { pt.x = 0; pt.y = 0; } od }
