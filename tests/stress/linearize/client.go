// SPDX-License-Identifier: BSD-3-Clause

package main

import (
	"bufio"
	"fmt"
	"io"
	"math/rand"
	"net"
	"strconv"
	"strings"
	"time"
)

const patience = 60 * time.Second

type client struct {
	address string
	conn    net.Conn
	in      *bufio.Reader
	random  *rand.Rand
	seen    map[string]uint64 // the last CAS that it was told of a key
}

func connect(address string, seed int64) (*client, error) {
	c := &client{address: address, random: rand.New(rand.NewSource(seed)), seen: map[string]uint64{}}
	return c, c.reconnect()
}

func (c *client) reconnect() error {
	conn, err := net.Dial("tcp", c.address)
	if err == nil {
		c.conn, c.in = conn, bufio.NewReader(conn)
	}
	return err
}

func (c *client) choose(key string) input {
	in := input{key: key, delta: uint64(1 + c.random.Intn(20)), value: strconv.Itoa(c.random.Intn(100000))}
	in.op = []int{opGet, opGet, opGets, opGets, opGets, opSet, opAdd, opAdd, opReplace, opAppend, opCas, opCas, opCas, opIncr, opIncr,
		opDecr, opDelete}[c.random.Intn(17)]
	if in.op == opCas || (in.op == opDelete && c.random.Intn(2) == 0) {
		in.cas = c.seen[key]
		if in.cas == 0 {
			in.cas = 1 << 50 // none has it
		}
	}
	return in
}

// The request's bytes; about half of them as a meta command, which tells the CAS.
func (c *client) words(in input) (string, bool) {
	meta := c.random.Intn(2) == 0 || (in.op == opDelete && in.cas != 0)
	if !meta {
		switch in.op {
		case opGet, opGets:
			return fmt.Sprintf("%s %s\r\n", opNames[in.op], in.key), meta
		case opCas:
			return fmt.Sprintf("cas %s 0 0 %d %d\r\n%s\r\n", in.key, len(in.value), in.cas, in.value), meta
		case opIncr, opDecr:
			return fmt.Sprintf("%s %s %d\r\n", opNames[in.op], in.key, in.delta), meta
		case opDelete:
			return fmt.Sprintf("delete %s\r\n", in.key), meta
		}
		return fmt.Sprintf("%s %s 0 0 %d\r\n%s\r\n", opNames[in.op], in.key, len(in.value), in.value), meta
	}
	switch in.op {
	case opGet:
		return fmt.Sprintf("mg %s v\r\n", in.key), meta
	case opGets:
		return fmt.Sprintf("mg %s c v\r\n", in.key), meta
	case opIncr, opDecr:
		return fmt.Sprintf("ma %s M%s D%d c v\r\n", in.key, map[int]string{opIncr: "I", opDecr: "D"}[in.op], in.delta), meta
	case opDelete:
		if in.cas != 0 {
			return fmt.Sprintf("md %s C%d\r\n", in.key, in.cas), meta
		}
		return fmt.Sprintf("md %s\r\n", in.key), meta
	}
	compare := ""
	if in.op == opCas {
		compare = fmt.Sprintf(" C%d", in.cas)
	}
	mode := map[int]string{opSet: "S", opAdd: "E", opReplace: "R", opAppend: "A", opCas: "S"}[in.op]
	return fmt.Sprintf("ms %s %d M%s c%s\r\n%s\r\n", in.key, len(in.value), mode, compare, in.value), meta
}

func (c *client) line() (string, error) {
	line, err := c.in.ReadString('\n')
	return strings.TrimRight(line, "\r\n"), err
}

func (c *client) block(bytes string) (string, error) {
	n, err := strconv.Atoi(bytes)
	if err != nil {
		return "", err
	}
	value := make([]byte, n+2)
	_, err = io.ReadFull(c.in, value)
	return string(value[:n]), err
}

func metaCas(words []string) uint64 {
	for _, word := range words {
		if word[0] == 'c' {
			cas, _ := strconv.ParseUint(word[1:], 10, 64)
			return cas
		}
	}
	return 0
}

// What follows the first line of an answer with a value.
func (c *client) rest(in input, words []string) (output, error) {
	var out output
	var err error
	if words[0] == "VA" {
		out.value, err = c.block(words[1])
		out.cas = metaCas(words[2:])
	} else {
		out.value, err = c.block(words[3])
		if len(words) > 4 {
			out.cas, _ = strconv.ParseUint(words[4], 10, 64)
		}
		if err == nil {
			_, err = c.line() // END
		}
	}
	if in.op == opIncr || in.op == opDecr {
		out.number, _ = strconv.ParseUint(out.value, 10, 64)
		out.value = ""
	}
	return out, err
}

func (c *client) hear(in input) (output, error) {
	line, err := c.line()
	words := strings.Fields(line)
	if err != nil || len(words) == 0 {
		return output{}, fmt.Errorf("%s of %s: %q, %v", opNames[in.op], in.key, line, err)
	}
	switch words[0] {
	case "VALUE", "VA":
		return c.rest(in, words)
	case "HD":
		return output{cas: metaCas(words[1:])}, nil
	case "STORED", "DELETED":
		return output{}, nil
	case "END", "EN", "NF", "NS", "NOT_FOUND", "NOT_STORED":
		return output{result: missing}, nil
	case "EX", "EXISTS":
		return output{result: differs}, nil
	}
	if strings.HasPrefix(line, "CLIENT_ERROR cannot increment") {
		return output{result: noNumber}, nil
	}
	n, err := strconv.ParseUint(line, 10, 64)
	if err != nil {
		return output{}, fmt.Errorf("%s of %s: %q", opNames[in.op], in.key, line)
	}
	return output{number: n}, nil
}

// Asks and waits for the answer. With `leave` it goes away instead, and nobody knows what became of it.
func (c *client) do(in input, leave bool) (output, error) {
	words, _ := c.words(in)
	c.conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(c.conn, words); err != nil {
		return output{}, err
	}
	if leave {
		c.conn.Close()
		return output{result: unknown}, c.reconnect()
	}
	out, err := c.hear(in)
	if err == nil && out.cas != 0 {
		c.seen[in.key] = out.cas
	}
	return out, err
}
