#!/usr/bin/env ruby
# SPDX-License-Identifier: BSD-3-Clause
# dalli's basic operations against a server: dalli_basic.rb HOST PORT [USER PASSWORD].
# Exit 0 when each does what its documentation says; else one line tells which did not. Flushes the server.

require 'dalli'

host, port, user, password = ARGV
options = { username: user, password: password, namespace: 'ns', compress: false }.compact
client = Dalli::Client.new("#{host}:#{port}", options)
$checks = 0

def check(what, got, want)
  $checks += 1
  got == want or abort "#{what}: got #{got.inspect}, want #{want.inspect}"
end

begin
  client.flush_all
rescue Dalli::DalliError => e
  abort "auth or connection: #{e.message}"
end
check('get of nothing', client.get('absent'), nil)
check('set', client.set('key', 'value') ? true : false, true)
check('get', client.get('key'), 'value')
check('an object', (client.set('object', { 'a' => [1, 2] }); client.get('object')), { 'a' => [1, 2] })
check('add to a key that is there', client.add('key', 'other') ? true : false, false)
check('add', client.add('new', 'new') ? true : false, true)
check('replace', client.replace('new', 'newer') ? true : false, true)
client.set('raw', 'b', 0, raw: true)
check('append', client.append('raw', 'c') ? true : false, true)
check('prepend', client.prepend('raw', 'a') ? true : false, true)
check('get of the joined', client.get('raw', raw: true), 'abc')
check('get of several', client.get_multi('key', 'new', 'absent'), { 'key' => 'value', 'new' => 'newer' })
check('incr with a first value', client.incr('n', 5, 0, 10), 10)
check('incr', client.incr('n', 5), 15)
check('decr', client.decr('n', 20), 0)
check('incr of nothing', client.incr('none', 1), nil)
check('touch', client.touch('key', 100) ? true : false, true)
check('touch of nothing', client.touch('absent', 100) ? true : false, false)
check('gat', client.gat('key', 100), 'value')
check('cas', client.cas('key') { |value| value + '!' } ? true : false, true)
check('get after cas', client.get('key'), 'value!')
check('cas of nothing', client.cas('absent') { |value| value }, nil)
check('delete', client.delete('key'), true)
check('delete of nothing', client.delete('key') ? true : false, false)
large = (0..255).map(&:chr).join.b * 2048
client.set('large', large, 0, raw: true)
check('get of half a megabyte', client.get('large', raw: true).b, large)
client.multi { 50.times { |i| client.set("quiet#{i}", i.to_s, 0, raw: true) } }
check('quiet stores', (0...50).map { |i| client.get("quiet#{i}", raw: true) }, (0...50).map(&:to_s))
check('stats', client.stats.values.first.key?('curr_items'), true)
check('flush', client.flush_all.all? { |done| done }, true)
check('get after the flush', client.get('new'), nil)
puts "dalli #{Dalli::VERSION}: #{$checks} checks"
