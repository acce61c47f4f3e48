// A condition with a loop whose end depends on the state.
//
// expect: states=204 transitions=240 verdict=holds

c_decl { int ring[6]; int r, w; int find(int v) { int k = r; while (k != w) { if (ring[k] == v) return k; k = (k + 1) % 6; } return -1; } }
c_track "ring" "sizeof(ring)"
c_track "&r" "sizeof(int)"
c_track "&w" "sizeof(int)"
active proctype P() { byte v;
 do :: c_expr { (w + 1) % 6 != r && find(PP->v) < 0 } -> c_code { ring[w] = PP->v; w = (w + 1) % 6; }; v = (v + 1) % 4
    :: c_expr { r != w } -> c_code { ring[r] = 0; r = (r + 1) % 6; } od }
