/* The users of -Y's file: which lines make one, who is let in, and what a bad file changes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "serve/access/users.h"
#include "tap.h"

static char path[] = "/tmp/test_users.XXXXXX";
static char why[USERS_WHY_BYTES];
static struct users users;

static bool load_bytes(const char *text, size_t n) {
    FILE *f = fopen(path, "w");
    if (f == NULL || fwrite(text, 1, n, f) != n || fclose(f) != 0) {
        printf("Bail out! cannot write %s\n", path);
        exit(1);
    }
    return users_load(&users, why);
}

static bool load(const char *text) { return load_bytes(text, strlen(text)); }

static const char *role_of(const char *name, const char *password) {
    enum role role;
    bool known = users_check(&users, name, strlen(name), password, strlen(password), ROLE_WRITE, &role);
    return known ? role_name(role) : "nobody";
}

static void test_lines(void) {
    ok(load("# who may\nanna:secret\n\nbob:pa:ss:read\r\ncarl:x:admin\ndora:read\nemil:write:write\nfay::\ngus:"),
       "a file of users is read");
    is_str(role_of("anna", "secret"), "write", "a user without a role has the listener's");
    is_str(role_of("anna", "secre"), "nobody", "a beginning of the password is not enough");
    is_str(role_of("anna", "secrets"), "nobody", "nor is the password and more");
    is_str(role_of("ann", "asecret"), "nobody", "name and password do not flow together");
    is_str(role_of("anna:secret", ""), "nobody", "not even with a colon in the name");
    is_str(role_of("bob", "pa:ss"), "read", "a password may hold colons before the role");
    is_str(role_of("bob", "pa:ss:read"), "nobody", "the role is no part of it");
    is_str(role_of("carl", "x"), "admin", "a user may be admin");
    is_str(role_of("dora", "read"), "write", "a second field is a password, also where it is a role's name");
    is_str(role_of("emil", "write"), "write", "and only the last one is a role");
    is_str(role_of("fay", ":"), "write", "a password may be a colon");
    is_str(role_of("gus", ""), "write", "or empty, in a last line without an end");
    is_str(role_of("# who may", ""), "nobody", "a comment is nobody");
    enum role role;
    ok(!users_check(&users, "anna", 4, "secret\0", 7, ROLE_WRITE, &role), "a zero byte does not end a password");
}

static const char *named(const char *name) { return role_name(users_role(&users, name, strlen(name), ROLE_WRITE)); }

static void test_roles_of_names(void) {
    load("anna:secret\nbob:pa:ss:read\ncarl:x:admin\n");
    is_str(named("carl"), "admin", "somebody known elsewhere has the role of the file");
    is_str(named("bob"), "read", "… whatever the password");
    is_str(named("anna"), "write", "… or the listener's where the file names none");
    is_str(named("dora"), "write", "… or does not know the name");
    is_str(named("car"), "write", "a beginning of a name is another name");
    is_str(named("bob:pa"), "write", "so is a name with a colon");
    struct users none;
    users_init(&none, NULL);
    is_str(role_name(users_role(&none, "carl", 4, ROLE_READ)), "read", "without a file all have the listener's");
    users_fini(&none);
}

static const char *certified_bytes(const char *name, size_t n) {
    enum role role;
    return users_certificate(&users, name, n, &role) ? role_name(role) : "nobody";
}

static const char *certified(const char *name) { return certified_bytes(name, strlen(name)); }

static void test_certificates(void) {
    ok(load("certificate web.shop read\ncertificate  a test's client   write\r\n"
            "certificate spiffe://shop/api admin\ncertificate spiffe://shop/api read\nweb.shop:pw:write\n"),
       "a file with names of certificates is read");
    ok(users_name_certificates(&users), "the file is known to have some");
    is_str(certified("web.shop"), "read", "a name has the role of its line");
    is_str(certified("a test's client"), "write", "it may hold blanks");
    is_str(certified("spiffe://shop/api"), "admin", "or colons; the first line of a name counts");
    is_str(certified("Web.shop"), "nobody", "another case is another name");
    is_str(certified("web.sho"), "nobody", "so is a beginning");
    is_str(certified("web.shop.evil"), "nobody", "or a longer one");
    is_str(certified_bytes("web.shop", 9), "nobody", "or one that ends in a zero byte");
    is_str(certified_bytes("web.shop\0.evil", 14), "nobody", "or holds one");
    is_str(certified_bytes("", 0), "nobody", "no name is nobody's");
    is_str(certified("web.shop:pw"), "nobody", "a user's name and password are no certificate's");
    is_str(role_of("web.shop", "pw"), "write", "a user may be called as a certificate is");
    is_str(role_of("spiffe", "//shop/api"), "nobody", "nobody logs in by the name of a certificate");
    is_str(named("spiffe"), "write", "nor has such a name a role");
    is_str(role_of("certificate web.shop read", ""), "nobody", "nor by its line");
    char line[USER_TOKEN_BYTES + 40];
    memset(line, 'x', sizeof line);
    memcpy(line, "certificate ", 12);
    strcpy(line + 12 + USER_TOKEN_BYTES, " read");
    ok(load(line), "a name of %d bytes is taken", USER_TOKEN_BYTES);
    is_str(certified_bytes(line + 12, USER_TOKEN_BYTES), "read", "and found");
    strcpy(line + 13 + USER_TOKEN_BYTES, " read");
    line[12 + USER_TOKEN_BYTES] = 'x';
    ok(!load(line) && strstr(why, "its name is too long") != NULL, "one byte more is refused: %s", why);
}

static void test_limits(void) {
    char *text = calloc(1, USERS_FILE_BYTES + 10), line[USER_TOKEN_BYTES + 2], *at = text;
    for (int i = 0; i < USERS_MAX; i++) {
        at += sprintf(at, "user%d:word%d\n", i, i);
    }
    ok(load(text), "%d users are taken", USERS_MAX);
    is_str(role_of("user63", "word63"), "write", "the last of them too");
    strcpy(at, "one:more\n");
    ok(!load(text), "one more is refused");
    ok(strstr(why, "line 65: there are more users") != NULL, "with its line: %s", why);
    memset(line, 'x', USER_TOKEN_BYTES);
    line[1] = ':';
    line[USER_TOKEN_BYTES] = '\0';
    ok(load(line), "a name and password of %d bytes are taken", USER_TOKEN_BYTES);
    is_str(role_of("x", line + 2), "write", "and let in");
    strcat(line, "x");
    ok(!load(line) && strstr(why, "too long") != NULL, "one byte more is refused: %s", why);
    memset(text, '\n', USERS_FILE_BYTES + 1);
    memcpy(text, "a:b", 3);
    ok(load_bytes(text, USERS_FILE_BYTES), "a file of %d bytes is read", USERS_FILE_BYTES);
    ok(!load_bytes(text, USERS_FILE_BYTES + 1) && strstr(why, "more than") != NULL, "a longer one is not: %s", why);
    free(text);
}

static void test_bad_files(void) {
    static const char *const bad[][2] = {
        {"", "names no user"},
        {"\n\n# nobody\n", "names no user"},
        {"anna:secret\nbob\n", "line 2: it does not begin with user:password"},
        {":secret\n", "line 1: it does not begin with user:password"},
        {"certificate web.shop\n", "line 1: a certificate's line is"},
        {"anna:secret\ncertificate web.shop:read\n", "line 2: a certificate's line is"},
        {"certificate read\n", "line 1: a certificate's line is"},
        {"certificate  \n", "line 1: a certificate's line is"},
        {"certificate web.shop root\n", "line 1: a certificate's line is"},
        {"certificate web.shop read \n", "line 1: a certificate's line is"},
    };
    load("anna:secret\n");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ok(!load(bad[i][0]) && strstr(why, bad[i][1]) != NULL, "a bad file is refused: %s", why);
    }
    ok(!load_bytes("a:b\0c\n", 6) && strstr(why, "zero byte") != NULL, "so is one with a zero byte: %s", why);
    unlink(path);
    ok(!users_name_certificates(&users), "a file of users alone names no certificate");
    ok(!users_load(&users, why) && strstr(why, path) != NULL, "and one that is not there: %s", why);
    is_str(role_of("anna", "secret"), "write", "the users stay as they were");
}

int main(void) {
    int fd = mkstemp(path);
    if (fd < 0) {
        printf("Bail out! no temporary file\n");
        return 1;
    }
    close(fd);
    users_init(&users, path);
    test_lines();
    test_roles_of_names();
    test_certificates();
    test_limits();
    test_bad_files();
    users_fini(&users);
    unlink(path);
    return tap_done();
}
