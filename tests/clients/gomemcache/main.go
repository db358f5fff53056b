// SPDX-License-Identifier: BSD-3-Clause

// gomemcache's basic operations against a server: `go run . HOST PORT`.
// Exit 0 when each does what its documentation says; else one line tells which did not.
// Flushes the server.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/bradfitz/gomemcache/memcache"
)

var checks int

func check(what string, err, want error) {
	checks++
	if !errors.Is(err, want) {
		fmt.Fprintf(os.Stderr, "%s: got error %v, want %v\n", what, err, want)
		os.Exit(1)
	}
}

func checkValue(what string, item *memcache.Item, err error, want []byte) {
	check(what, err, nil)
	if !bytes.Equal(item.Value, want) {
		fmt.Fprintf(os.Stderr, "%s: got %d bytes, want %d\n", what, len(item.Value), len(want))
		os.Exit(1)
	}
}

func checkNumber(what string, got uint64, err error, want uint64) {
	check(what, err, nil)
	if got != want {
		fmt.Fprintf(os.Stderr, "%s: got %d, want %d\n", what, got, want)
		os.Exit(1)
	}
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: go run . HOST PORT")
		os.Exit(2)
	}
	client := memcache.New(net.JoinHostPort(os.Args[1], os.Args[2]))
	client.Timeout = 10 * time.Second

	check("ping", client.Ping(), nil)
	check("flush_all", client.FlushAll(), nil)
	_, err := client.Get("absent")
	check("get of nothing", err, memcache.ErrCacheMiss)

	check("set", client.Set(&memcache.Item{Key: "key", Value: []byte("value"), Flags: 7}), nil)
	item, err := client.Get("key")
	checkValue("get", item, err, []byte("value"))
	if item.Flags != 7 {
		fmt.Fprintf(os.Stderr, "flags: got %d, want 7\n", item.Flags)
		os.Exit(1)
	}
	check("add to a key that is there", client.Add(&memcache.Item{Key: "key"}), memcache.ErrNotStored)
	check("add", client.Add(&memcache.Item{Key: "new", Value: []byte("new")}), nil)
	check("replace of nothing", client.Replace(&memcache.Item{Key: "absent"}), memcache.ErrNotStored)
	check("replace", client.Replace(&memcache.Item{Key: "new", Value: []byte("er")}), nil)
	check("append", client.Append(&memcache.Item{Key: "new", Value: []byte("!")}), nil)
	check("prepend", client.Prepend(&memcache.Item{Key: "new", Value: []byte("new")}), nil)
	item, err = client.Get("new")
	checkValue("get of the joined", item, err, []byte("newer!"))

	items, err := client.GetMulti([]string{"key", "new", "absent"})
	check("get of several", err, nil)
	if len(items) != 2 {
		fmt.Fprintf(os.Stderr, "get of several: got %d items, want 2\n", len(items))
		os.Exit(1)
	}

	item, err = client.Get("key")
	checkValue("get before cas", item, err, []byte("value"))
	item.Value = []byte("swapped")
	check("cas", client.CompareAndSwap(item), nil)
	check("cas with an old unique", client.CompareAndSwap(item), memcache.ErrCASConflict)

	check("set of a number", client.Set(&memcache.Item{Key: "n", Value: []byte("10")}), nil)
	n, err := client.Increment("n", 5)
	checkNumber("incr", n, err, 15)
	n, err = client.Decrement("n", 20)
	checkNumber("decr", n, err, 0)
	_, err = client.Increment("absent", 1)
	check("incr of nothing", err, memcache.ErrCacheMiss)

	check("touch", client.Touch("key", 100), nil)
	check("touch of nothing", client.Touch("absent", 100), memcache.ErrCacheMiss)
	item, err = client.GetAndTouch("key", 100)
	checkValue("get and touch", item, err, []byte("swapped"))
	check("delete", client.Delete("key"), nil)
	check("delete of nothing", client.Delete("key"), memcache.ErrCacheMiss)

	large := bytes.Repeat([]byte("0123456789abcdef"), 50000)
	check("set of 800 kB", client.Set(&memcache.Item{Key: "large", Value: large}), nil)
	item, err = client.Get("large")
	checkValue("get of 800 kB", item, err, large)
	check("delete all", client.DeleteAll(), nil)
	_, err = client.Get("large")
	check("get after delete all", err, memcache.ErrCacheMiss)
	fmt.Println("gomemcache:", checks, "checks")
}
