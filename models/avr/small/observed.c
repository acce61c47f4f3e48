/* Formulas over variables of several bytes, members, bit-fields and enumerations. What is half
 * written is not observed.
 *
 * device: atmega328p
 * ltl: [] 'w >= -1 && w <= 1'
 * ltl: [] (arr[1].y == 2 || arr[1].y == -2 || arr[1].y == 0)
 * ltl: [] (m == IDLE || m == RUN)
 * ltl: [] bf.b <= 3 && [] bf.a == 0
 * expect: holds
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>

enum mode { IDLE, RUN = 7 };
volatile enum mode m;
volatile int8_t neg;
struct {
    uint8_t a : 3;
    uint8_t b : 5;
} volatile bf;
volatile int32_t w;
struct S {
    uint8_t x;
    int16_t y;
} volatile arr[3];

ISR(TIMER0_OVF_vect) {
    m = m == IDLE ? RUN : IDLE;
}

int main(void) {
    TCCR0B = 1;
    TIMSK0 = 1;
    sei();
    for (;;) {
        neg = PINB & 1 ? -1 : 1;
        bf.b = PINC & 3;
        arr[1].y = neg * 2;
        w = neg;
    }
}
