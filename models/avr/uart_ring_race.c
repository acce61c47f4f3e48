/* A ring of received bytes. The main program counts down without protection: an interrupt between
 * reading and writing the counter is lost.
 *
 * device: atmega328p
 * options: -D UDR0=0..1
 * expect: violated assertion violated
 */
#include <avr/interrupt.h>
#include <avr/io.h>
#include <stdint.h>

#include "check.h"

#define SIZE 4

struct ring {
    uint8_t data[SIZE];
    uint8_t head, tail, count;
};

volatile struct ring ring;

ISR(USART_RX_vect) {
    uint8_t received = UDR0;
    if (ring.count == SIZE)
        return;
    ring.data[ring.head] = received;
    ring.head = (ring.head + 1) % SIZE;
    ring.count++;
}

static uint8_t take(void) {
    uint8_t byte = ring.data[ring.tail];
    ring.tail = (ring.tail + 1) % SIZE;
    ring.count--;
    return byte;
}

int main(void) {
    UCSR0B = 1 << RXEN0 | 1 << RXCIE0;
    DDRB = 0xff;
    sei();
    for (;;) {
        if (ring.count > 0)
            PORTB = take();
        cli();
        check((uint8_t)(ring.head - ring.tail) % SIZE == ring.count % SIZE);
        sei();
    }
}
