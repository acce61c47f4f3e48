// A function that returns a pointer, called behind `&&`.
//
// expect: states=6 transitions=5 verdict=holds

c_decl {
\#include <string.h>
	char *word;
}
c_track "&word" "sizeof(char *)"
byte r, n;

init {
	c_code { word = "second"; now.n = now.r == 0 && *strchr(word, 'o') == 'o'; };
	assert(n == 1);
	c_code { now.n = now.r > 0 || *strchr(word, 'c') == 'd'; };
	assert(n == 0)
}
