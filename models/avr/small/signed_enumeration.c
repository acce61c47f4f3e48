/* An enumeration with a negative constant has negative values in formulas.
 *
 * device: atmega328p
 * ltl: [] (level == LOW || level == HIGH)
 * expect: holds
 */
#include <avr/io.h>

enum level { LOW = -1, HIGH = 200 };
volatile enum level level = LOW;

int main(void) {
    for (;;) {
        level = PINB & 1 ? HIGH : LOW;
    }
}
