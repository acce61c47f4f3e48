// Texts in arrays of characters: strlen, strcmp, strncmp, memcmp, strcpy, memset.
//
// expect: states=749 transitions=1388 verdict=holds

c_decl {
	\#include <string.h>
	typedef struct { char name[6]; char other[6]; unsigned char length; } entry;
}
c_state "entry e" "Global"

byte order;

active proctype Writer() {
	byte n;
	do
	:: n < 3 -> c_code { strcpy(now.e.name, "abc"); now.e.name[PWriter->n] = 'x'; now.e.length = strlen(now.e.name); }; n++
	:: n < 3 -> c_code { memset(now.e.other, 'b', 6); now.e.other[5] = 0; }; n++
	:: n == 3 -> break
	od
}

active proctype Reader() {
	byte k;
	do
	:: k < 2 -> c_code {
		now.order = strcmp(now.e.name, now.e.other) < 0 ? 1 : 2;
		if (strncmp(now.e.name, "ab", 2) == 0)
			now.order += 4;
		if (memcmp(now.e.name, now.e.other, 6) == 0)
			now.order += 8;
	}; k++
	:: k == 2 -> break
	od
}
