// SPDX-License-Identifier: BSD-3-Clause

package main

import (
	"strconv"
	"strings"

	"github.com/anishathalye/porcupine"
)

// What can be asked. Those with a second name are the meta command for the same.
const (
	opGet = iota
	opGets
	opSet
	opAdd
	opReplace
	opAppend
	opCas
	opIncr
	opDecr
	opDelete
	opKinds
)

var opNames = [opKinds]string{"get", "gets", "set", "add", "replace", "append", "cas", "incr", "decr", "delete"}

// How it can end.
const (
	done     = iota // stored, deleted, counted, found
	missing         // not found; of add, replace and append: not stored
	differs         // another CAS
	noNumber        // incr, decr
	unknown         // no answer came: it may have been done, now or later, or not
)

type input struct {
	op    int
	key   string
	value string
	delta uint64
	cas   uint64 // cas; delete: 0 compares nothing
}

type output struct {
	result int
	value  string // get, gets
	number uint64 // incr, decr
	cas    uint64 // 0: the answer does not tell
}

// One key. cas is 0 while nothing has told it.
type state struct {
	present bool
	value   string
	cas     uint64
}

// A number as the server reads it: digits, then the end or a blank.
func number(text string) (uint64, bool) {
	if blank := strings.IndexByte(text, ' '); blank >= 0 {
		text = text[:blank]
	}
	n, err := strconv.ParseUint(text, 10, 64)
	return n, err == nil
}

func count(in input, n uint64) uint64 {
	if in.op == opIncr {
		return n + in.delta
	}
	if n < in.delta {
		return 0
	}
	return n - in.delta
}

// The text of a number that takes the place of another: never shorter.
func padded(n uint64, was string) string {
	text := strconv.FormatUint(n, 10)
	if len(text) < len(was) {
		text += strings.Repeat(" ", len(was)-len(text))
	}
	return text
}

// The value after the change, and how it ends, for a state whose CAS is known or does not matter.
func apply(s state, in input) (state, int) {
	if in.cas != 0 && s.present && s.cas != 0 && s.cas != in.cas {
		return s, differs
	}
	stored := state{present: true, value: in.value}
	switch in.op {
	case opSet:
		return stored, done
	case opAdd:
		if s.present {
			return s, missing
		}
		return stored, done
	}
	if !s.present {
		return s, missing
	}
	switch in.op {
	case opReplace, opCas:
		return stored, done
	case opAppend:
		return state{present: true, value: s.value + in.value}, done
	case opIncr, opDecr:
		n, ok := number(s.value)
		if !ok {
			return s, noNumber
		}
		return state{present: true, value: padded(count(in, n), s.value)}, done
	case opDelete:
		return state{}, done
	}
	return s, done // get, gets
}

// Whether the CAS that was told can be that of the state, which is told with it.
func learn(s state, cas uint64) (bool, state) {
	if cas == 0 {
		return true, s
	}
	if s.cas != 0 && s.cas != cas {
		return false, s
	}
	s.cas = cas
	return true, s
}

func step(stateBefore, inputOf, outputOf interface{}) (bool, interface{}) {
	s, in, out := stateBefore.(state), inputOf.(input), outputOf.(output)
	after, result := apply(s, in)
	if out.result == unknown {
		return true, after // not done is the same as done after all others
	}
	// With a CAS that nothing has told either end is possible.
	if s.present && s.cas == 0 && in.cas != 0 && out.result == differs {
		return true, s
	}
	if result != out.result {
		return false, s
	}
	if result != done {
		return true, s
	}
	switch in.op {
	case opGet, opGets:
		if out.value != s.value {
			return false, s
		}
		return learnAny(s, out.cas)
	case opIncr, opDecr:
		if n, _ := number(after.value); n != out.number {
			return false, s
		}
	}
	if out.cas != 0 && out.cas <= s.cas {
		return false, s // a change takes a CAS that is higher than all before
	}
	return learnAny(after, out.cas)
}

func learnAny(s state, cas uint64) (bool, interface{}) {
	ok, after := learn(s, cas)
	return ok, after
}

var model = porcupine.Model{
	Init: func() interface{} { return state{} },
	Step: step,
}
