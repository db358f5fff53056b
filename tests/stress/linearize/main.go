// SPDX-License-Identifier: BSD-3-Clause

// Histories of few contended keys, checked for linearizability by porcupine: `go run . HOST:PORT OPERATIONS SEED`.
// The server must be so large that it evicts nothing; that is checked at the end. Ends with one line that counts.
package main

import (
	"bufio"
	"fmt"
	"math"
	"math/rand"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"
)

const (
	clients      = 8
	keysARound   = 3
	opsAClient   = 60
	leaveOneIn   = 1500
	checkPatient = 2 * time.Minute
)

func fail(format string, what ...interface{}) {
	fmt.Printf(format+"\n", what...)
	os.Exit(1)
}

// What an operator does meanwhile: nothing of it may drop an item while memory is free.
var orders = []string{"evict policy s3fifo", "evict policy slru", "evict policy sieve", "evict policy lru", "slabs automove utility",
	"slabs automove eviction", "slabs automove random", "slabs automove off", "slabs reassign -1 5", "slabs reassign -1 2", "slabs reassign 1 2",
	"slabs geometry factor 1.1 force", "slabs geometry revert", "slabs geometry sizes 96,104,120,1000,60000 force", "lru_crawler crawl all"}

func operate(address string, seed int64, stop *atomic.Value) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		fail("no connection for the operator: %v", err)
	}
	defer conn.Close()
	in, random := bufio.NewReader(conn), rand.New(rand.NewSource(seed))
	for stop.Load() == nil {
		fmt.Fprintf(conn, "%s\r\n", orders[random.Intn(len(orders))])
		if _, err := in.ReadString('\n'); err != nil {
			fail("the operator is not answered: %v", err)
		}
		time.Sleep(time.Duration(random.Intn(3000)) * time.Microsecond)
	}
}

func evictions(address string) uint64 {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		fail("no connection: %v", err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "stats\r\n")
	in, n := bufio.NewReader(conn), uint64(math.MaxUint64)
	for line, err := in.ReadString('\n'); err == nil && line != "END\r\n"; line, err = in.ReadString('\n') {
		if words := strings.Fields(line); len(words) == 3 && words[1] == "evictions" {
			n, _ = strconv.ParseUint(words[2], 10, 64)
		}
	}
	return n
}

// All clients at once on fresh keys: a history for each key.
func round(all []*client, number int, began time.Time) map[string][]porcupine.Operation {
	histories := make([][]porcupine.Operation, len(all))
	var group sync.WaitGroup
	for i, c := range all {
		group.Add(1)
		go func(i int, c *client) {
			defer group.Done()
			for n := 0; n < opsAClient; n++ {
				in := c.choose(fmt.Sprintf("lin:%d:%d", number, c.random.Intn(keysARound)))
				call := time.Since(began).Nanoseconds()
				out, err := c.do(in, c.random.Intn(leaveOneIn) == 0)
				if err != nil {
					fail("%v", err)
				}
				end := time.Since(began).Nanoseconds()
				if out.result == unknown {
					end = math.MaxInt64
				}
				histories[i] = append(histories[i], porcupine.Operation{ClientId: i, Input: in, Call: call, Output: out, Return: end})
			}
		}(i, c)
	}
	group.Wait()
	byKey := map[string][]porcupine.Operation{}
	for _, history := range histories {
		for _, op := range history {
			key := op.Input.(input).key
			byKey[key] = append(byKey[key], op)
		}
	}
	for _, c := range all {
		c.seen = map[string]uint64{}
	}
	return byKey
}

func tell(history []porcupine.Operation) {
	for _, op := range history {
		in, out := op.Input.(input), op.Output.(output)
		fmt.Printf("  %d..%d client %d: %s %s value %q delta %d cas %d -> %d %q %d cas %d\n", op.Call, op.Return, op.ClientId,
			opNames[in.op], in.key, in.value, in.delta, in.cas, out.result, out.value, out.number, out.cas)
	}
}

func main() {
	if len(os.Args) != 4 {
		fail("usage: go run . HOST:PORT OPERATIONS SEED")
	}
	wanted, _ := strconv.Atoi(os.Args[2])
	seed, _ := strconv.ParseInt(os.Args[3], 10, 64)
	var all []*client
	for i := 0; i < clients; i++ {
		c, err := connect(os.Args[1], seed+int64(i))
		if err != nil {
			fail("no connection: %v", err)
		}
		all = append(all, c)
	}
	var stop atomic.Value
	go operate(os.Args[1], seed-1, &stop)
	began := time.Now()
	ops, unknowns, histories, violations := 0, 0, 0, 0
	for number := 0; ops < wanted; number++ {
		for key, history := range round(all, number, began) {
			ops += len(history)
			histories++
			for _, op := range history {
				if op.Output.(output).result == unknown {
					unknowns++
				}
			}
			if result := porcupine.CheckOperationsTimeout(model, history, checkPatient); result != porcupine.Ok {
				violations++
				fmt.Printf("not linearizable (%s): %s\n", result, key)
				if violations == 1 {
					tell(history)
				}
			}
		}
	}
	stop.Store(true)
	evicted := evictions(os.Args[1])
	fmt.Printf("%d operations, %d with unknown outcome, %d histories, %d violations, %d evictions\n", ops, unknowns, histories, violations, evicted)
	if violations != 0 || evicted != 0 {
		os.Exit(1)
	}
}
