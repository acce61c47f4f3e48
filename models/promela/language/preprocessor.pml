// What the C preprocessor gives SPIN: numbers in conditions, strings, pasted names, any number of arguments,
// lines, and a comment that is closed twice.
//
// expect: states=12 transitions=11 verdict=holds

/* a comment
/* in a comment */
*/
#define N 0x0A
#if N == 10 && 010 == 8 && 'a' == 97 && '\x41' == 65 && -1 > 0u && !true
#define WIDTH 3
#else
#error no
#endif
#define HAS_WIDTH defined(WIDTH)
#if HAS_WIDTH && (0, 1) && !!WIDTH
byte a_1, a_2, a_3;
#endif
#define NAME(n) a_##n
#define SET(n, ...) NAME(n) = FIRST(__VA_ARGS__ __VA_OPT__(,) 0); CHECK(n, ##__VA_ARGS__)
#define FIRST(x, rest...) x
#define CHECK(n, ...) assert(NAME(n) == 0 __VA_OPT__(+ __VA_ARGS__))
byte line;
init {
	SET(1, 5);
	SET(2);
	SET(3,
	    7 + 1);
	line = __LINE__;
	assert(line == 29);
	line = 010;
	assert(line == 10)
}
