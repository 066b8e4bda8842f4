! A program's own words in its trace: fathom.h for Fortran. Compile this file with the program; nothing is linked.
!
!	use fathom
!	call fathom_begin('checkpoint')
!	call fathom_begin('step', 'number', int(step, int64))
!	...
!	call fathom_end('step')
!	call fathom_end('checkpoint')
!
! Where Fathom does not trace the process, each call is one branch. docs/user-api.md says more.
module fathom
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64
  implicit none
  private
  public :: fathom_begin, fathom_end, fathom_mark, fathom_current, fathom_call_origin

  integer, parameter :: numbers = 4, name_length = 128
  character(kind=c_char, len=*), parameter :: nul = c_null_char

  ! struct fathom_with of fathom.h
  type, bind(c) :: with_type
    type(c_ptr) :: object = c_null_ptr
    integer(c_int32_t) :: count = 0
    type(c_ptr) :: key(numbers) = c_null_ptr
    integer(c_int64_t) :: value(numbers) = 0
  end type

  abstract interface
    subroutine begin_type(name, with) bind(c)
      import
      character(kind=c_char), intent(in) :: name(*)
      type(with_type), intent(in) :: with
    end subroutine
    subroutine end_type(name) bind(c)
      import
      type(c_ptr), value :: name
    end subroutine
    function current_type(stream, seq) bind(c) result(found)
      import
      integer(c_int64_t), intent(out) :: stream, seq
      integer(c_int) :: found
    end function
    subroutine origin_type(stream, seq) bind(c)
      import
      integer(c_int64_t), value :: stream, seq
    end subroutine
  end interface

  interface
    function dlsym(handle, name) bind(c) result(address)
      import
      type(c_ptr), value :: handle
      character(kind=c_char), intent(in) :: name(*)
      type(c_funptr) :: address
    end function
  end interface

  ! Asked for once: Fathom answers where it traces the process.
  integer, parameter :: not_asked = 0, absent = 1, here = 2
  integer, volatile, save :: state = not_asked
  procedure(begin_type), pointer, save :: begin_with => null(), mark_with => null()
  procedure(end_type), pointer, save :: end_with => null()
  procedure(current_type), pointer, save :: current => null()
  procedure(origin_type), pointer, save :: origin => null()

contains

  subroutine ask()
    type(c_funptr) :: found

    found = dlsym(c_null_ptr, 'fathom_begin_with' // nul)
    if (.not. c_associated(found)) then
      state = absent
      return
    end if
    call c_f_procpointer(found, begin_with)
    call c_f_procpointer(dlsym(c_null_ptr, 'fathom_end' // nul), end_with)
    call c_f_procpointer(dlsym(c_null_ptr, 'fathom_mark_with' // nul), mark_with)
    call c_f_procpointer(dlsym(c_null_ptr, 'fathom_current' // nul), current)
    call c_f_procpointer(dlsym(c_null_ptr, 'fathom_call_origin' // nul), origin)
    state = here
  end subroutine

  logical function traced()
    if (state == not_asked) call ask()
    traced = state == here
  end function

  ! A name without the blanks at its end, as C has it.
  subroutine c_text(text, out)
    character(*), intent(in) :: text
    character(kind=c_char), intent(out) :: out(name_length)
    integer :: i, length

    length = min(len_trim(text), name_length - 1)
    do i = 1, length
      out(i) = text(i:i)
    end do
    out(length + 1) = c_null_char
  end subroutine

  subroutine say(what, name, key, value, object)
    procedure(begin_type) :: what
    character(*), intent(in) :: name
    character(*), intent(in), optional :: key, object
    integer(int64), intent(in), optional :: value
    character(kind=c_char), target :: c_name(name_length), c_key(name_length), c_object(name_length)
    type(with_type) :: with

    call c_text(name, c_name)
    if (present(key)) then
      call c_text(key, c_key)
      with%count = 1
      with%key(1) = c_loc(c_key)
      if (present(value)) with%value(1) = value
    end if
    if (present(object)) then
      call c_text(object, c_object)
      with%object = c_loc(c_object)
    end if
    call what(c_name, with)
  end subroutine

  ! Begins a region of this thread, with a number and the name of what it works on.
  subroutine fathom_begin(name, key, value, object)
    character(*), intent(in) :: name
    character(*), intent(in), optional :: key, object
    integer(int64), intent(in), optional :: value

    if (traced()) call say(begin_with, name, key, value, object)
  end subroutine

  ! Ends the innermost open region of this name; without a name: of any.
  subroutine fathom_end(name)
    character(*), intent(in), optional :: name
    character(kind=c_char), target :: c_name(name_length)

    if (.not. traced()) return
    if (present(name)) then
      call c_text(name, c_name)
      call end_with(c_loc(c_name))
    else
      call end_with(c_null_ptr)
    end if
  end subroutine

  ! A point in time.
  subroutine fathom_mark(name, key, value, object)
    character(*), intent(in) :: name
    character(*), intent(in), optional :: key, object
    integer(int64), intent(in), optional :: value

    if (traced()) call say(mark_with, name, key, value, object)
  end subroutine

  ! Identity of the innermost open call of this thread, to send with a request; 0, 0: none is recorded.
  subroutine fathom_current(stream, seq)
    integer(int64), intent(out) :: stream, seq

    stream = 0
    seq = 0
    if (.not. traced()) return
    if (current(stream, seq) == 0) stream = 0
  end subroutine

  ! In the server: the innermost open region of this thread serves the call of that identity.
  subroutine fathom_call_origin(stream, seq)
    integer(int64), intent(in) :: stream, seq

    if (traced()) call origin(stream, seq)
  end subroutine
end module
