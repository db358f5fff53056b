// SPDX-License-Identifier: BSD-3-Clause
// spymemcached's basic operations against a server: java -cp spymemcached.jar SpymemcachedBasic.java HOST PORT text|binary
// [USER PASSWORD]. Exit 0 when each does what its documentation says; else one line tells which did not.
// Flushes the server.

import java.net.InetSocketAddress;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ExecutionException;
import java.util.logging.Level;
import java.util.logging.Logger;
import net.spy.memcached.CASResponse;
import net.spy.memcached.CASValue;
import net.spy.memcached.ConnectionFactoryBuilder;
import net.spy.memcached.FailureMode;
import net.spy.memcached.MemcachedClient;
import net.spy.memcached.auth.AuthDescriptor;
import net.spy.memcached.auth.PlainCallbackHandler;

public class SpymemcachedBasic {
    private static final int TIMEOUT_MS = 30000;
    private static final int LOGIN_TRIES = 25;
    private static final int LOGIN_PAUSE_MS = 20;
    private static int checks;

    private static void check(String what, Object got, Object want) {
        checks++;
        if (!Objects.equals(got, want)) {
            System.err.println(what + ": got " + got + ", want " + want);
            System.exit(1);
        }
    }

    public static void main(String[] words) throws Exception {
        System.setProperty("net.spy.log.LoggerImpl", "net.spy.memcached.compat.log.SunLogger");
        Logger.getLogger("net.spy.memcached").setLevel(Level.OFF);
        boolean binary = words[2].equals("binary");
        ConnectionFactoryBuilder how = new ConnectionFactoryBuilder()
            .setProtocol(binary ? ConnectionFactoryBuilder.Protocol.BINARY : ConnectionFactoryBuilder.Protocol.TEXT)
            .setOpTimeout(TIMEOUT_MS).setFailureMode(FailureMode.Cancel);
        if (words.length > 3) {
            how.setAuthDescriptor(new AuthDescriptor(new String[] {"PLAIN"}, new PlainCallbackHandler(words[3], words[4])));
        }
        MemcachedClient client = new MemcachedClient(how.build(),
            List.of(new InetSocketAddress(words[0], Integer.parseInt(words[1]))));
        try {
            run(client, binary);
        } catch (Exception failure) {
            System.err.println("auth or connection: " + failure);
            System.exit(1);
        }
        System.out.println("spymemcached " + words[2] + ": " + checks + " checks");
        System.exit(0);
    }

    /** What is asked before the client has logged in is cancelled. */
    private static Boolean firstFlush(MemcachedClient client) throws Exception {
        for (int tries = 1;; tries++) {
            try {
                return client.flush().get();
            } catch (ExecutionException cancelled) {
                if (tries == LOGIN_TRIES) {
                    throw cancelled;
                }
                Thread.sleep(LOGIN_PAUSE_MS);
            }
        }
    }

    private static void run(MemcachedClient client, boolean binary) throws Exception {
        check("flush", firstFlush(client), true);
        check("get of nothing", client.get("absent"), null);
        check("set", client.set("key", 100, "value").get(), true);
        check("get", client.get("key"), "value");
        check("an object", client.set("list", 100, new java.util.ArrayList<>(List.of(1, 2))).get(), true);
        check("get of the object", client.get("list"), List.of(1, 2));
        check("add to a key that is there", client.add("key", 100, "other").get(), false);
        check("add", client.add("new", 100, "new").get(), true);
        check("replace", client.replace("new", 100, "newer").get(), true);
        check("replace of nothing", client.replace("absent", 100, "x").get(), false);
        check("append", client.append("new", "er").get(), true);
        check("prepend", client.prepend("new", "the ").get(), true);
        check("get of the joined", client.get("new"), "the newerer");
        check("get of several", client.getBulk("key", "new", "absent"), Map.of("key", "value", "new", "the newerer"));
        CASValue<Object> found = client.gets("key");
        check("gets", found.getValue(), "value");
        check("cas", client.cas("key", found.getCas(), "swapped"), CASResponse.OK);
        check("cas with an old one", client.cas("key", found.getCas(), "again"), CASResponse.EXISTS);
        check("cas of nothing", client.cas("absent", 1, "x"), CASResponse.NOT_FOUND);
        check("incr with a first value", client.incr("n", 5, 10), 10L);
        check("incr", client.incr("n", 5), 15L);
        check("decr", client.decr("n", 20), 0L);
        check("incr of nothing", client.incr("none", 1), -1L);
        check("touch", client.touch("key", 100).get(), true);
        if (binary) { // text has no such command in this client
            check("get and touch", client.getAndTouch("key", 100).getValue(), "swapped");
        }
        check("delete", client.delete("key").get(), true);
        check("delete of nothing", client.delete("key").get(), false);
        byte[] large = new byte[1 << 19];
        new java.util.Random(1).nextBytes(large);
        check("set of half a megabyte", client.set("large", 100, large).get(), true);
        check("get of half a megabyte", Arrays.equals((byte[]) client.get("large"), large), true);
        check("stats", client.getStats().values().iterator().next().containsKey("curr_items"), true);
        check("versions", client.getVersions().size(), 1);
        check("flush", client.flush().get(), true);
        check("get after the flush", client.get("new"), null);
    }
}
