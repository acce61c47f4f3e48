#ifndef STEPS
#define STEPS 0
byte steps;
#endif
