/* The users of -Y's file: lines that make a user, logins that succeed, and the effect of a bad file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/auth/users.h"
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

TEST(test_lines) {
    static const char *const rows[][4] = {
        {"anna", "secret", "write", "a user without a role has the listener's"},
        {"anna", "secre", "nobody", "a beginning of the password is not enough"}, {"anna", "secrets", "nobody", "nor is the password and more"},
        {"ann", "asecret", "nobody", "name and password do not flow together"}, {"anna:secret", "", "nobody", "not even with a colon in the name"},
        {"bob", "pa:ss", "read", "a password may hold colons before the role"}, {"bob", "pa:ss:read", "nobody", "the role is no part of it"},
        {"carl", "x", "admin", "a user may be admin"}, {"dora", "read", "write", "a second field is a password, also where it is a role's name"},
        {"emil", "write", "write", "and only the last one is a role"}, {"fay", ":", "write", "a password may be a colon"},
        {"gus", "", "write", "or empty, in a last line without an end"}, {"# who may", "", "nobody", "a comment is nobody"}};
    ok(load("# who may\nanna:secret\n\nbob:pa:ss:read\r\ncarl:x:admin\ndora:read\nemil:write:write\nfay::\ngus:"), "a file of users is read");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        is_str(role_of(rows[i][0], rows[i][1]), rows[i][2], "%s", rows[i][3]);
    }
    enum role role;
    ok(!users_check(&users, "anna", 4, "secret\0", 7, ROLE_WRITE, &role), "a zero byte does not end a password");
}

static const char *named(const char *name) { return role_name(users_role(&users, name, strlen(name), ROLE_WRITE)); }

TEST(test_roles_of_names) {
    static const char *const rows[][3] = {
        {"carl", "admin", "somebody known elsewhere has the role of the file"}, {"bob", "read", "… whatever the password"},
        {"anna", "write", "… or the listener's where the file names none"}, {"dora", "write", "… or does not know the name"},
        {"car", "write", "a beginning of a name is another name"}, {"bob:pa", "write", "so is a name with a colon"}};
    struct users none;
    load("anna:secret\nbob:pa:ss:read\ncarl:x:admin\n");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        is_str(named(rows[i][0]), rows[i][1], "%s", rows[i][2]);
    }
    users_init(&none, NULL);
    is_str(role_name(users_role(&none, "carl", 4, ROLE_READ)), "read", "without a file all have the listener's");
    users_fini(&none);
}

static const char *certified_bytes(const char *name, size_t n) {
    enum role role;
    return users_certificate(&users, name, n, &role) ? role_name(role) : "nobody";
}

TEST(test_certificates) {
    static const struct {
        const char *name;
        size_t      bytes;
        const char *role, *claim;
    } rows[] = {
        {"web.shop", 8, "read", "a name has the role of its line"}, {"a test's client", 15, "write", "it may hold blanks"},
        {"spiffe://shop/api", 17, "admin", "or colons; the first line of a name counts"}, {"Web.shop", 8, "nobody", "another case is another name"},
        {"web.sho", 7, "nobody", "so is a beginning"}, {"web.shop.evil", 13, "nobody", "or a longer one"},
        {"web.shop", 9, "nobody", "or one that ends in a zero byte"}, {"web.shop\0.evil", 14, "nobody", "or holds one"},
        {"", 0, "nobody", "no name is nobody's"}, {"web.shop:pw", 11, "nobody", "a user's name and password are no certificate's"}};
    ok(load("certificate web.shop read\ncertificate  a test's client   write\r\n"
            "certificate spiffe://shop/api admin\ncertificate spiffe://shop/api read\nweb.shop:pw:write\n"), "a file with names of certificates is read");
    ok(users_have_certificates(&users), "the file is known to have some");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        is_str(certified_bytes(rows[i].name, rows[i].bytes), rows[i].role, "%s", rows[i].claim);
    }
    is_str(role_of("web.shop", "pw"), "write", "a user may be called as a certificate is");
    is_str(role_of("spiffe", "//shop/api"), "nobody", "nobody logs in by the name of a certificate");
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

TEST(test_limits) {
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

TEST(test_bad_files) {
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
    ok(!users_have_certificates(&users), "a file of users alone names no certificate");
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
    tap_run_tests();
    users_fini(&users);
    unlink(path);
    return tap_done();
}
