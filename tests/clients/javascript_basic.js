// SPDX-License-Identifier: BSD-3-Clause
// The basic operations of two JavaScript clients against a server: javascript_basic.js memjs|memcached HOST PORT
// [USER PASSWORD]. NODE_PATH says where they are. memjs speaks the binary protocol, memcached text.
// Exit 0 when each does what its documentation says; else one line tells which did not. Flushes the server.
'use strict';

const assert = require('assert');
const { promisify } = require('util');

const [which, host, port, username, password] = process.argv.slice(2);
let checks = 0;

function check(what, got, want) {
  checks++;
  assert.deepStrictEqual(got, want, `${what}: got ${JSON.stringify(got)}, want ${JSON.stringify(want)}`);
}

const large = Buffer.alloc(1 << 19, '0123456789abcdef');

async function memjs() {
  const client = require('memjs').Client.create(`${host}:${port}`, { username, password, retries: 0, timeout: 30 });
  const text = async (key) => String((await client.get(key)).value);
  await client.flush();
  check('get of nothing', (await client.get('absent')).value, null);
  check('set', await client.set('key', 'value', {}), true);
  check('get', await text('key'), 'value');
  check('add to a key that is there', await client.add('key', 'other', {}), false);
  check('add', await client.add('new', 'new', {}), true);
  check('replace', await client.replace('new', 'newer', {}), true);
  check('replace of nothing', await client.replace('absent', 'x', {}), false);
  check('append', await client.append('new', 'er'), true);
  check('get of the joined', await text('new'), 'newerer');
  check('increment with a first value', (await client.increment('n', 5, { initial: 10 })).value, 10);
  check('increment', (await client.increment('n', 5, {})).value, 15);
  check('decrement', (await client.decrement('n', 20, {})).value, 0);
  check('touch', await client.touch('key', 100), true);
  check('touch of nothing', await client.touch('absent', 100), false);
  check('delete', await client.delete('key'), true);
  check('delete of nothing', await client.delete('key'), false);
  check('set of half a megabyte', await client.set('large', large, {}), true);
  check('get of half a megabyte', large.equals((await client.get('large')).value), true);
  const stats = await promisify((done) => client.stats((error, server, values) => done(error, values)))();
  check('stats', 'curr_items' in stats, true);
  await client.flush();
  check('get after the flush', (await client.get('new')).value, null);
  client.close();
}

async function memcached() {
  const Client = require('memcached');
  const client = new Client(`${host}:${port}`, { retries: 0, timeout: 30000, maxValue: 1 << 20 });
  const call = (name, ...words) => promisify(client[name].bind(client))(...words);
  await call('flush');
  check('get of nothing', await call('get', 'absent'), undefined);
  check('set', await call('set', 'key', 'value', 100), true);
  check('get', await call('get', 'key'), 'value');
  check('an object', await call('set', 'object', { a: [1, 2] }, 100), true);
  check('get of the object', await call('get', 'object'), { a: [1, 2] });
  check('add', await call('add', 'new', 'new', 100), true);
  await assert.rejects(call('add', 'new', 'x', 100));
  check('replace', await call('replace', 'new', 'newer', 100), true);
  check('append', await call('append', 'new', 'er'), true);
  check('prepend', await call('prepend', 'new', 'the '), true);
  check('get of the joined', await call('get', 'new'), 'the newerer');
  check('get of several', await call('getMulti', ['key', 'new', 'absent']), { key: 'value', new: 'the newerer' });
  const found = await call('gets', 'key');
  check('gets', found.key, 'value');
  check('cas', await call('cas', 'key', 'swapped', found.cas, 100), true);
  check('cas with an old one', await call('cas', 'key', 'again', found.cas, 100), false);
  check('set of a number', await call('set', 'n', 10, 100), true);
  check('incr', await call('incr', 'n', 5), 15);
  check('decr', await call('decr', 'n', 20), 0);
  check('incr of nothing', await call('incr', 'none', 1), false);
  check('touch', await call('touch', 'key', 100), true);
  check('delete', await call('del', 'key'), true);
  check('delete of nothing', await call('del', 'key'), false);
  check('set of half a megabyte', await call('set', 'large', large, 100), true);
  check('get of half a megabyte', large.equals(await call('get', 'large')), true);
  check('stats', 'curr_items' in (await call('stats'))[0], true);
  check('settings', 'maxconns' in (await call('settings'))[0], true);
  check('slabs', Array.isArray(await call('slabs')), true);
  check('items', Array.isArray(await call('items')), true);
  check('version', typeof (await call('version'))[0].version, 'string');
  await call('flush');
  check('get after the flush', await call('get', 'new'), undefined);
  client.end();
}

({ memjs, memcached })[which]().then(
  () => console.log(`${which}: ${checks} checks`),
  (error) => {
    console.error(error.message);
    process.exit(1);
  });
