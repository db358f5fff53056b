<?php
// SPDX-License-Identifier: BSD-3-Clause
// The basic operations of PHP's memcached extension against a server: php_basic.php HOST PORT text|binary [USER PASSWORD].
// Exit 0 when each does what its documentation says; else one line tells which did not. Flushes the server.

$checks = 0;
function check(string $what, $got, $want): void
{
    global $checks;
    $checks++;
    if ($got !== $want) {
        fwrite(STDERR, "$what: got " . var_export($got, true) . ', want ' . var_export($want, true) . "\n");
        exit(1);
    }
}

$client = new Memcached();
$client->setOption(Memcached::OPT_BINARY_PROTOCOL, $argv[3] === 'binary');
$client->setOption(Memcached::OPT_COMPRESSION, false);
if (isset($argv[4])) {
    $client->setSaslAuthData($argv[4], $argv[5]);
}
$client->addServer($argv[1], (int)$argv[2]);

if (!$client->flush()) {
    fwrite(STDERR, 'flush: ' . $client->getResultMessage() . "\n");
    exit(1);
}
check('get of nothing', $client->get('absent'), false);
check('its code', $client->getResultCode(), Memcached::RES_NOTFOUND);
check('set', $client->set('key', 'value'), true);
check('get', $client->get('key'), 'value');
check('an array', $client->set('array', ['a' => [1, 2.5, true]]), true);
check('get of the array', $client->get('array'), ['a' => [1, 2.5, true]]);
check('add to a key that is there', $client->add('key', 'other'), false);
check('its code', $client->getResultCode(), $argv[3] === 'binary' ? Memcached::RES_DATA_EXISTS : Memcached::RES_NOTSTORED);
check('add', $client->add('new', 'new'), true);
check('replace', $client->replace('new', 'newer'), true);
check('replace of nothing', $client->replace('absent', 'x'), false);
check('append', $client->append('new', 'er'), true);
check('prepend', $client->prepend('new', 'the '), true);
check('get of the joined', $client->get('new'), 'the newerer');
check('set of several', $client->setMulti(['a' => 1, 'b' => 'two']), true);
check('get of several', $client->getMulti(['a', 'b', 'absent']), ['a' => 1, 'b' => 'two']);
check('set of a number', $client->set('n', 10), true);
check('increment', $client->increment('n', 5), 15);
check('decrement', $client->decrement('n', 20), 0);
check('touch', $client->touch('key', 100), true);
check('touch of nothing', $client->touch('absent', 100), false);
$found = $client->get('key', null, Memcached::GET_EXTENDED);
check('get with cas', $found['value'], 'value');
check('cas', $client->cas($found['cas'], 'key', 'swapped'), true);
check('cas with an old one', $client->cas($found['cas'], 'key', 'again'), false);
check('get after cas', $client->get('key'), 'swapped');
check('delete', $client->delete('key'), true);
check('delete of nothing', $client->delete('key'), false);
$large = str_repeat('0123456789abcdef', 32768);
check('set of half a megabyte', $client->set('large', $large), true);
check('get of half a megabyte', $client->get('large'), $large);
check('the version', count($client->getVersion()), 1);
check('flush', $client->flush(), true);
check('get after the flush', $client->get('new'), false);
echo 'php-memcached ', phpversion('memcached'), " $argv[3]: $checks checks\n";
