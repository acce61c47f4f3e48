// A producer sends numbers to a consumer, for the benchmark of the run time.
package main

import (
	"os"
	"runtime"
	"strconv"
)

func main() {
	runtime.GOMAXPROCS(1)
	last, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	q := make(chan int32)
	done := make(chan int32)
	go func() {
		for i := 0; i < last; i++ {
			q <- 1
		}
	}()
	go func() {
		var sum int32
		for i := 0; i < last; i++ {
			x := <-q
			sum += x
		}
		done <- sum
	}()
	if <-done != int32(last) {
		panic("a message is lost")
	}
}
