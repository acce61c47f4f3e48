/* Arrays of arrays, also of a type with a name: a condition names an element by all its indices.
 *
 * device: atmega328p
 * expect: holds
 * ltl: [] 'done == 0 || grid[2][1] == 21 && grid[0][3] == 3 && grid[2][i] == 20 + i'
 * ltl: [] 'done == 0 || table[1][2] == 12 && table[2][0] == 20 && after == 77'
 * ltl: [] 'done == 0 || cells[1][2].right == 121 && cells[0][1].left == 10'
 */
#include <avr/io.h>
#include <stdint.h>

typedef uint8_t row[4];
struct cell {
    uint8_t left;
    uint8_t right;
};

volatile uint8_t grid[3][4];
volatile row table[3];
volatile struct cell cells[2][3];
volatile uint8_t after, i, done;

int main(void) {
    for (uint8_t y = 0; y < 3; y++)
        for (uint8_t x = 0; x < 4; x++) {
            grid[y][x] = 10 * y + x;
            table[y][x] = 10 * y + x;
            if (y < 2 && x < 3) {
                cells[y][x].left = 100 * y + 10 * x;
                cells[y][x].right = 100 * y + 10 * x + 1;
            }
        }
    after = 77;
    i = PINB & 3;
    done = 1;
    for (;;) {
    }
}
